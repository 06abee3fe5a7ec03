"""Forward and backward passes of multi-layer perceptrons on flat float32 vectors, without autograd or allocations.

All arguments of every operation are bound once, when a network is built, as views of preallocated buffers. On a CPU
the matrix products and `tanh` are numpy's, which are faster than torch's for these sizes; they work on the
same memory. A network may stand for several of the same shape (twin critics): tensors have a leading axis for them. On
a CPU each of them is a lane, a sequence of operations of its own, so that lanes may run in different processes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor

from erlbench.policy import layer_slices

Operation = Callable[[], object]
SLOPE = 0.01  # of leaky-relu below zero


class Mlp:
    """`networks` MLPs of the same shape on the same inputs, in `lanes` (on a GPU one lane computes all of them).

    `forward` reads `inputs` `(batch, sizes[0])` and writes `outputs` `(networks, batch, sizes[-1])`. `backward`
    reads `output_gradient` (d loss / d outputs, same shape, overwritten) after a `forward` and writes what was asked
    for: `gradients` of the parameters, or `input_gradient` `(networks, batch, columns)` of the columns
    `input_columns` of the inputs.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        activation: str,
        output: str,
        parameters: Tensor,
        inputs: Tensor,
        gradients: Tensor | None = None,
        input_columns: slice | None = None,
    ) -> None:
        """`parameters` and `gradients`: contiguous `(networks, parameter_count(sizes))`, used in place.

        `activation`: of the hidden layers (tanh, relu, leaky-relu); `output`: linear or tanh.
        """
        networks, batch = len(parameters), len(inputs)
        self.sizes, self.activation, self.output = tuple(sizes), activation, output
        self.inputs, self.input_columns = inputs, input_columns
        shapes = list(zip(layer_slices(sizes), sizes, sizes[1:]))
        last = len(shapes) - 1
        self.activations = [activation] * last + [output]
        self.weights, self.biases = _layers(parameters, shapes)
        self.layers = [inputs.new_zeros(networks, batch, size) for size in sizes[1:]]
        self.outputs = self.layers[-1]
        below = [inputs.expand(networks, *inputs.shape), *self.layers]
        self.lanes = [slice(k, k + 1) for k in range(networks)] if on_cpu(inputs) else [slice(None)]

        self._forward: list[list[Operation]] = []
        for lane in self.lanes:
            operations: list[Operation] = []
            for index, layer in enumerate(self.layers):
                operations += products(below[index][lane], self.weights[index][lane].mT, layer[lane])
                operations.append(partial(layer[lane].add_, self.biases[index][lane]))
                operations += activate(self.activations[index], layer[lane])
            self._forward.append(operations)

        self._backward: list[list[Operation]] = [[] for _ in self.lanes]
        self.deltas: list[Tensor] = []  # d loss / d (a layer's outputs before its activation)
        self.weight_gradients: list[Tensor] = []
        self.bias_gradients: list[Tensor] = []
        if gradients is None and input_columns is None:
            return
        self.deltas = [torch.zeros_like(layer) for layer in self.layers]
        self.output_gradient = self.deltas[-1]
        if gradients is not None:
            self.weight_gradients, self.bias_gradients = _layers(gradients, shapes)
        if input_columns is not None:
            columns = self.weights[0][:, :, input_columns]
            self.input_gradient = inputs.new_zeros(networks, batch, columns.shape[2])
        for lane, operations in zip(self.lanes, self._backward):
            for index in range(last, -1, -1):
                delta = self.deltas[index][lane]
                operations += differentiate(self.activations[index], self.layers[index][lane], delta)
                if gradients is not None:
                    operations += products(delta.mT, below[index][lane], self.weight_gradients[index][lane])
                    operations.append(partial(torch.sum, delta, 1, keepdim=True, out=self.bias_gradients[index][lane]))
                if index:
                    operations += products(delta, self.weights[index][lane], self.deltas[index - 1][lane])
            if input_columns is not None:
                operations += products(self.deltas[0][lane], columns[lane], self.input_gradient[lane])

    def forward(self) -> Tensor:
        """Compute and return `outputs`."""
        for lane in range(len(self.lanes)):
            self.forward_lane(lane)
        return self.outputs

    def forward_lane(self, lane: int) -> None:
        """The part of `forward` that belongs to a lane."""
        for operation in self._forward[lane]:
            operation()

    def backward(self) -> None:
        """Compute the gradients from `output_gradient`."""
        for lane in range(len(self.lanes)):
            self.backward_lane(lane)

    def backward_lane(self, lane: int) -> None:
        """The part of `backward` that belongs to a lane."""
        for operation in self._backward[lane]:
            operation()


class Adam:
    """Adam (Kingma & Ba 2015, PyTorch's defaults) on one flat vector, in one fused pass for each of its lanes."""

    def __init__(
        self, parameters: Tensor, gradients: Tensor, first: Tensor, second: Tensor, cuts: Sequence[int] = ()
    ) -> None:
        """All contiguous and of the same length, used in place; `first` and `second` are the moments.

        `cuts`: where all but the first lane begin; each lane makes steps of its own.
        """
        self.weight_decay = 0.0  # times the parameters is added to the gradients, as in torch.optim.Adam
        self._steps = [torch.zeros((), device=parameters.device) for _ in range(len(cuts) + 1)]
        parts = zip(*(tensor.tensor_split(list(cuts)) for tensor in (parameters, gradients, first, second)))
        self.lanes = range(len(self._steps))
        self._arguments: list[list[list[Tensor]]] = [
            [*([tensor] for tensor in part), [], [steps]] for part, steps in zip(parts, self._steps)
        ]

    def reset(self, steps: int) -> None:
        """Go on after `steps` steps."""
        for counted in self._steps:
            counted.fill_(steps)

    def step(self, learning_rate: float) -> None:
        """One step of descent."""
        for lane in self.lanes:
            self.step_lane(lane, learning_rate)

    def step_lane(self, lane: int, learning_rate: float) -> None:
        """The part of `step` that belongs to a lane."""
        self._steps[lane] += 1
        torch._fused_adam_(
            *self._arguments[lane],
            lr=learning_rate,
            beta1=0.9,
            beta2=0.999,
            weight_decay=self.weight_decay,
            eps=1e-8,
            amsgrad=False,
            maximize=False,
        )


def on_cpu(tensor: Tensor) -> bool:
    """Whether numpy can work on the tensor's memory."""
    return tensor.device.type == "cpu"


def products(a: Tensor, b: Tensor, out: Tensor) -> list[Operation]:
    """The operations for `out[k] = a[k] @ b[k]`."""
    if b.shape[1] == 1:  # an outer product
        return [partial(torch.mul, a, b, out=out)]
    if not on_cpu(out):
        return [partial(torch.bmm, a, b, out=out)]
    return [partial(np.dot, a[k].numpy(), b[k].numpy(), out[k].numpy()) for k in range(len(out))]


def _layers(vectors: Tensor, shapes: list[tuple[tuple[slice, slice], int, int]]) -> tuple[list[Tensor], list[Tensor]]:
    """Views of flat vectors as weights `(networks, outputs, inputs)` and biases `(networks, 1, outputs)`."""
    weights = [vectors[:, weight].view(-1, outputs, inputs) for (weight, _), inputs, outputs in shapes]
    return weights, [vectors[:, None, bias] for (_, bias), _, _ in shapes]


def activate(activation: str, x: Tensor) -> list[Operation]:
    """The operations for `x = f(x)`."""
    if activation == "linear":
        return []
    if activation == "relu":
        return [x.relu_]
    if activation == "leaky-relu":
        return [partial(torch.nn.functional.leaky_relu_, x, SLOPE)]
    if activation == "tanh":
        return [partial(np.tanh, x.numpy(), out=x.numpy()) if on_cpu(x) else x.tanh_]
    raise ValueError(f"unknown activation '{activation}'")


def differentiate(activation: str, x: Tensor, delta: Tensor) -> list[Operation]:
    """The operations for `delta *= f'` where `x = f(...)` is the layer after its activation."""
    aten = torch.ops.aten
    if activation == "linear":
        return []
    if activation == "relu":
        return [partial(aten.threshold_backward.grad_input, delta, x, 0, grad_input=delta)]
    if activation == "leaky-relu":
        return [partial(aten.leaky_relu_backward.grad_input, delta, x, SLOPE, True, grad_input=delta)]
    return [partial(aten.tanh_backward.grad_input, delta, x, grad_input=delta)]
