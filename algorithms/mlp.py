"""Forward and backward passes of multi-layer perceptrons on flat float32 vectors, without autograd or allocations.

All arguments of every operation are bound once, when a network is built, as views of preallocated buffers. On a CPU
the matrix products and `tanh` are numpy's, which are faster than torch's for these sizes; they work on the
same memory. A network may stand for several of the same shape (twin critics): tensors have a leading axis for them.
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
    """`networks` MLPs of the same shape on the same inputs.

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
        self.inputs = inputs
        shapes = list(zip(layer_slices(sizes), sizes, sizes[1:]))
        weights, biases = _layers(parameters, shapes)
        layers = [inputs.new_zeros(networks, batch, size) for size in sizes[1:]]
        self.outputs = layers[-1]
        shared = inputs.expand(networks, *inputs.shape)
        last = len(layers) - 1

        self._forward: list[Operation] = []
        for index, layer in enumerate(layers):
            self._forward += products(layers[index - 1] if index else shared, weights[index].mT, layer)
            self._forward.append(partial(layer.add_, biases[index]))
            self._forward += _activate(output if index == last else activation, layer)

        self._backward: list[Operation] = []
        if gradients is None and input_columns is None:
            return
        deltas = [torch.zeros_like(layer) for layer in layers]
        self.output_gradient = deltas[-1]
        if gradients is not None:
            weight_gradients, bias_gradients = _layers(gradients, shapes)
        for index in range(last, -1, -1):
            delta = deltas[index]
            self._backward += _differentiate(output if index == last else activation, layers[index], delta)
            if gradients is not None:
                below = layers[index - 1] if index else shared
                self._backward += products(delta.mT, below, weight_gradients[index])
                self._backward.append(partial(torch.sum, delta, 1, keepdim=True, out=bias_gradients[index]))
            if index:
                self._backward += products(delta, weights[index], deltas[index - 1])
        if input_columns is not None:
            columns = weights[0][:, :, input_columns]
            self.input_gradient = inputs.new_zeros(networks, batch, columns.shape[2])
            self._backward += products(deltas[0], columns, self.input_gradient)

    def forward(self) -> Tensor:
        """Compute and return `outputs`."""
        for operation in self._forward:
            operation()
        return self.outputs

    def backward(self) -> None:
        """Compute the gradients from `output_gradient`."""
        for operation in self._backward:
            operation()


class Adam:
    """Adam (Kingma & Ba 2015, PyTorch's defaults) on one flat vector, in one fused pass."""

    def __init__(self, parameters: Tensor, gradients: Tensor, first: Tensor, second: Tensor) -> None:
        """All contiguous and of the same length, used in place; `first` and `second` are the moments."""
        self.weight_decay = 0.0  # times the parameters is added to the gradients, as in torch.optim.Adam
        self._steps = torch.zeros((), device=parameters.device)
        self._arguments = [parameters], [gradients], [first], [second], [], [self._steps]  # type: ignore[var-annotated]

    def reset(self, steps: int) -> None:
        """Go on after `steps` steps."""
        self._steps.fill_(steps)

    def step(self, learning_rate: float) -> None:
        """One step of descent."""
        self._steps += 1
        torch._fused_adam_(
            *self._arguments,
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


def _activate(activation: str, x: Tensor) -> list[Operation]:
    if activation == "linear":
        return []
    if activation == "relu":
        return [x.relu_]
    if activation == "leaky-relu":
        return [partial(torch.nn.functional.leaky_relu_, x, SLOPE)]
    if activation == "tanh":
        return [partial(np.tanh, x.numpy(), out=x.numpy()) if on_cpu(x) else x.tanh_]
    raise ValueError(f"unknown activation '{activation}'")


def _differentiate(activation: str, x: Tensor, delta: Tensor) -> list[Operation]:
    """`delta *= f'` where `x = f(...)` is the layer after its activation."""
    aten = torch.ops.aten
    if activation == "linear":
        return []
    if activation == "relu":
        return [partial(aten.threshold_backward.grad_input, delta, x, 0, grad_input=delta)]
    if activation == "leaky-relu":
        return [partial(aten.leaky_relu_backward.grad_input, delta, x, SLOPE, True, grad_input=delta)]
    return [partial(aten.tanh_backward.grad_input, delta, x, grad_input=delta)]
