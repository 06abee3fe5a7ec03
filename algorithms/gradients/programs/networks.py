"""Networks: forward and backward passes, and the targets' update, as operations on flat float32 vectors.

The one place where passes are written. A network may stand for several of the same shape (twin critics): its tensors
have a leading axis for them. A pass can be asked for some of the networks only.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from erlbench.algorithms.gradients.programs.operations import activate, differentiate, on_cpu, product
from erlbench.algorithms.gradients.programs.parameters import layers
from erlbench.algorithms.gradients.programs.program import Operation, Program

ALL = slice(None)


class Network:
    """MLPs of the same shape on the same inputs; `outputs` is `(networks, batch, sizes[-1])`.

    `forward` reads `inputs` `(batch, sizes[0])` and writes `outputs`. `backward` reads `output_gradient` (d loss / d
    outputs, overwritten) and writes what `gradients` reads, and `backward_to_inputs`: that writes `input_gradient`
    `(networks, batch, columns)` of the columns `input_columns` of the inputs.
    """

    def __init__(
        self, sizes: Sequence[int], activation: str, output: str, parameters: Tensor, inputs: Tensor,
        gradients: Tensor | None = None, input_columns: slice | None = None,
    ) -> None:  # fmt: skip
        """`parameters` and `gradients`: contiguous `(networks, parameter_count(sizes))`, used in place.

        `activation`: of the hidden layers (tanh, relu, leaky-relu); `output`: linear or one of these.
        """
        networks, batch = len(parameters), len(inputs)
        self._activations = [activation] * (len(sizes) - 2) + [output]
        self._weights, self._biases = layers(parameters, sizes)
        self.layers = [inputs.new_zeros(networks, batch, size) for size in sizes[1:]]
        self.outputs = self.layers[-1]
        self._below = [inputs.expand(networks, *inputs.shape), *self.layers[:-1]]
        # On a CPU each network by itself; a GPU computes all at once.
        self.parts = [slice(k, k + 1) for k in range(networks)] if on_cpu(inputs) else [ALL]
        self._gradients = None if gradients is None else layers(gradients, sizes)
        self.deltas: list[Tensor] = []
        if gradients is not None or input_columns is not None:
            self.deltas = [torch.zeros_like(layer) for layer in self.layers]  # d loss / d (W x + b)
            self.output_gradient = self.deltas[-1]
        if input_columns is not None:
            self._columns = self._weights[0][:, :, input_columns]
            self.input_gradient = inputs.new_zeros(networks, batch, self._columns.shape[2])

    def forward(self, networks: slice = ALL) -> Program:
        """Layer by layer y = f(W x + b)."""
        program: Program = []
        for x, w, b, layer, f in zip(self._below, self._weights, self._biases, self.layers, self._activations):
            y = layer[networks]
            program += [*product(x[networks], w[networks].mT, y), partial(y.add_, b[networks]), *activate(f, y)]
        return program

    def backward(self, networks: slice = ALL) -> Program:
        """From the last layer: delta = d loss / d (W x + b), by delta_(i-1) = f'(W_i^T delta_i)."""
        program: Program = []
        for index in range(len(self.layers) - 1, -1, -1):
            delta = self.deltas[index][networks]
            program += differentiate(self._activations[index], self.layers[index][networks], delta)
            if index:
                program += product(delta, self._weights[index][networks], self.deltas[index - 1][networks])
        return program

    def backward_to_inputs(self, networks: slice = ALL) -> Program:
        """After `backward`: d loss / d inputs = W^T delta."""
        return product(self.deltas[0][networks], self._columns[networks], self.input_gradient[networks])

    def gradients(self, networks: slice = ALL) -> Program:
        """After `backward`: dW = delta^T x and db = sum of delta over the minibatch."""
        assert self._gradients is not None
        program: Program = []
        for index, (weights, biases) in enumerate(zip(*self._gradients)):
            delta = self.deltas[index][networks]
            program += product(delta.mT, self._below[index][networks], weights[networks])
            program.append(partial(torch.sum, delta, 1, keepdim=True, out=biases[networks]))
        return program


def polyak_update(target: Tensor, online: Tensor, tau: Tensor) -> Operation:
    """Target = (1 - tau) * target + tau * online."""
    return partial(target.lerp_, online, tau)
