"""Networks: forward and backward passes, Adam and the targets' update, as operations on flat float32 vectors.

The one place where passes are written. A network may stand for several of the same shape (twin critics): its tensors
have a leading axis for them. A pass can be asked for some of the networks and for some rows of the minibatch only.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from erlbench.algorithms.gradients.programs.operations import activate, differentiate, on_cpu, product
from erlbench.algorithms.gradients.programs.program import Lane, Operation
from erlbench.policy import layer_slices

ALL = slice(None)


class Part(NamedTuple):
    """The parameters before output `split` of the layer `layer` (`first`), or those from there on."""

    layer: int
    split: int
    first: bool

    def outputs(self, layer: int) -> slice:
        """The outputs of `layer` whose weights belong to the part."""
        split = self.split if layer == self.layer else None if layer < self.layer else 0
        return slice(0, split) if self.first else slice(split, None) if split is not None else slice(0, 0)

    def has_biases(self, layer: int) -> bool:
        """Whether the biases of `layer` belong to the part."""
        return (layer < self.layer) == self.first


class Network:
    """MLPs of the same shape on the same inputs; `outputs` is `(networks, batch, sizes[-1])`.

    `forward` reads `inputs` `(batch, sizes[0])` and writes `outputs`. `backward` reads `output_gradient` (d loss / d
    outputs, overwritten) and writes what `gradients` reads and, where wanted, `input_gradient` `(networks, batch,
    columns)` of the columns `input_columns` of the inputs.
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

        `activation`: of the hidden layers (tanh, relu, leaky-relu); `output`: linear or one of these.
        """
        networks, batch = len(parameters), len(inputs)
        self.sizes, self.inputs, self.input_columns = tuple(sizes), inputs, input_columns
        self.flat = [parameters] if gradients is None else [parameters, gradients]
        self.activations = [activation] * (len(sizes) - 2) + [output]
        self._weights, self._biases = _layers(parameters, sizes)
        self.layers = [inputs.new_zeros(networks, batch, size) for size in sizes[1:]]
        self.outputs = self.layers[-1]
        self._below = [inputs.expand(networks, *inputs.shape), *self.layers[:-1]]
        # On a CPU each network is a lane; a GPU computes all at once.
        self.lanes = [slice(k, k + 1) for k in range(networks)] if on_cpu(inputs) else [ALL]
        self._gradients = None if gradients is None else _layers(gradients, sizes)
        self.deltas: list[Tensor] = []
        if gradients is not None or input_columns is not None:
            self.deltas = [torch.zeros_like(layer) for layer in self.layers]  # d loss / d (W x + b)
            self.output_gradient = self.deltas[-1]
        if input_columns is not None:
            self._columns = self._weights[0][:, :, input_columns]
            self.input_gradient = inputs.new_zeros(networks, batch, self._columns.shape[2])

    def forward(self, networks: slice = ALL, rows: slice = ALL) -> Lane:
        """Layer by layer y = f(W x + b)."""
        lane: Lane = []
        for x, weights, biases, layer, f in zip(
            self._below, self._weights, self._biases, self.layers, self.activations
        ):
            y = layer[networks, rows]
            lane += product(x[networks, rows], weights[networks].mT, y)
            lane += [partial(y.add_, biases[networks]), *activate(f, y)]
        return lane

    def backward(self, networks: slice = ALL, rows: slice = ALL) -> Lane:
        """From the last layer: delta = d loss / d (W x + b), by delta_(i-1) = f'(W_i^T delta_i)."""
        lane: Lane = []
        for index in range(len(self.layers) - 1, -1, -1):
            delta = self.deltas[index][networks, rows]
            lane += differentiate(self.activations[index], self.layers[index][networks, rows], delta)
            if index:
                lane += product(delta, self._weights[index][networks], self.deltas[index - 1][networks, rows])
            elif self.input_columns is not None:
                lane += product(delta, self._columns[networks], self.input_gradient[networks, rows])
        return lane

    def gradients(self, networks: slice = ALL, part: Part | None = None) -> Lane:
        """After `backward` of all rows: dW = delta^T x and db = sum of delta over the minibatch."""
        assert self._gradients is not None
        lane: Lane = []
        for index, (weights, biases) in enumerate(zip(*self._gradients)):
            outputs = ALL if part is None else part.outputs(index)
            delta, gradient = self.deltas[index][networks], weights[networks, outputs]
            if gradient.numel():
                lane += product(delta[:, :, outputs].mT, self._below[index][networks], gradient)
            if part is None or part.has_biases(index):
                lane.append(partial(torch.sum, delta, 1, keepdim=True, out=biases[networks]))
        return lane


class Adam:
    """Adam (Kingma & Ba 2015, PyTorch's defaults) on one flat vector, in one fused pass for each of its parts."""

    def __init__(
        self,
        parameters: Tensor,
        gradients: Tensor,
        moments: Sequence[Tensor],
        learning_rate: float,
        cuts: Sequence[int] = (),
        weight_decay: float = 0.0,
    ) -> None:
        """All contiguous and of the same length, used in place; `moments` are the first and the second.

        `cuts`: where all but the first part begin. `weight_decay` times the parameters is added to the gradients.
        """
        parts = zip(*(tensor.tensor_split(list(cuts)) for tensor in (parameters, gradients, *moments)))
        self._parts = [[[tensor] for tensor in part] for part in parts]
        self._steps = [torch.zeros((), device=parameters.device) for _ in self._parts]
        more: dict[str, Any] = {"beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "amsgrad": False, "maximize": False}
        self._fused = partial(torch._fused_adam_, lr=learning_rate, weight_decay=weight_decay, **more)

    def reset(self, steps: int) -> None:
        """Go on after `steps` steps."""
        for counted in self._steps:
            counted.fill_(steps)

    def step(self, part: int | None = None) -> Lane:
        """One step of descent of one part, by default of all."""
        chosen = range(len(self._parts)) if part is None else (part,)
        pairs = [(self._parts[k], self._steps[k]) for k in chosen]
        return [
            operation
            for tensors, steps in pairs
            for operation in (partial(steps.add_, 1), partial(self._fused, *tensors, [], [steps]))
        ]


def polyak_update(target: Tensor, online: Tensor, tau: float) -> Operation:
    """Target = (1 - tau) * target + tau * online."""
    return partial(target.lerp_, online, tau)


def _layers(vectors: Tensor, sizes: Sequence[int]) -> tuple[list[Tensor], list[Tensor]]:
    """Views of flat vectors as weights `(networks, outputs, inputs)` and biases `(networks, 1, outputs)`."""
    shapes = list(zip(layer_slices(sizes), sizes, sizes[1:]))
    weights = [vectors[:, weight].view(-1, outputs, inputs) for (weight, _), inputs, outputs in shapes]
    return weights, [vectors[:, None, bias] for (_, bias), _, _ in shapes]
