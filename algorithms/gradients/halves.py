"""The passes of one network cut in two, so that two processes can share them: no bit of the outcome changes.

Rows of a minibatch have nothing to do with each other, forward or backward; the gradients of the parameters, which sum
over rows, are cut by parameters. Products of a part can differ in the last bit from those of the whole, depending on
the BLAS and its kernels, unless the cut is where the kernels cut anyway. So cuts are at multiples of their block, and
it is tried for each shape whether they change a bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from itertools import chain

import numpy as np
import torch
from torch import Tensor

from erlbench.algorithms.gradients.mlp import Mlp, Operation, activate, differentiate, on_cpu
from erlbench.algorithms.gradients.side_by_side import Together, Work
from erlbench.policy import layer_slices, parameter_count

BLOCK = 12  # rows that OpenBLAS's AVX2 kernels take together; those for AVX-512 take fewer
VECTOR = 16  # floats; optimisers treat what is left over at the end of a vector otherwise


class Halves:
    """The passes of a network, each as two works that may run at the same time; see `halves`."""

    def __init__(self, network: Mlp, rows: tuple[slice, slice], cut: tuple[int, int]) -> None:
        """`rows` of the minibatch, and `cut`: a layer, and the number of its outputs in the first half."""
        self.rows = rows
        self._forward = [_forward(network, part) for part in rows]
        self._backward = [_backward(network, part) for part in rows]
        self._gradients = _gradients(network, cut) if network.weight_gradients else [[], []]

    def forward(self, half: int) -> None:
        """`Mlp.forward` of the rows `rows[half]`."""
        for operation in self._forward[half]:
            operation()

    def backward(self, half: int) -> None:
        """`Mlp.backward` of the same rows, without the gradients of the parameters."""
        for operation in self._backward[half]:
            operation()

    def gradients(self, half: int) -> None:
        """The gradients of the parameters before or from `place_of_cut`, after both of `backward`."""
        for operation in self._gradients[half]:
            operation()


def halves(network: Mlp) -> Halves | None:
    """The network's passes in two; None where that would change a bit, or leave nothing to share."""
    batch, sizes = len(network.inputs), network.sizes
    rows, cut = _rows(batch), _cut(sizes)
    if len(network.weights[0]) > 1 or not on_cpu(network.inputs) or rows is None or cut is None:
        return None
    columns = network.input_columns
    wanted = (columns.start, columns.stop) if columns else None
    if not _exact(sizes, network.activation, network.output, batch, bool(network.weight_gradients), wanted):
        return None
    return Halves(network, rows, cut)


class Forward:
    """A network's forward pass, in two halves where there are two processes and it can be."""

    def __init__(self, network: Mlp) -> None:
        self._network, divided = network, halves(network)
        self._works: list[Work] = [partial(divided.forward, half) for half in range(2)] if divided else []
        self.works = self._works[1:]

    def __call__(self, together: Together) -> Tensor:
        """The network's `outputs` `(1, batch, sizes[-1])`."""
        if not self._works or together.processes == 1:
            return self._network.forward()
        together(self._works)
        return self._network.outputs


def place_of_cut(sizes: Sequence[int]) -> int:
    """Where the second half of the flat parameters begins; 0 where they cannot be cut."""
    cut = _cut(tuple(sizes))
    if cut is None:
        return 0
    layer, outputs = cut
    return layer_slices(sizes)[layer][0].start + outputs * sizes[layer]


def _rows(batch: int) -> tuple[slice, slice] | None:
    middle = round(batch / 2 / BLOCK) * BLOCK
    return (slice(0, middle), slice(middle, batch)) if 0 < middle < batch else None


def _cut(sizes: tuple[int, ...]) -> tuple[int, int] | None:
    """The cut of the largest layer that brings the halves' work closest together; the second has the biases, too."""
    work = [inputs * outputs for inputs, outputs in zip(sizes, sizes[1:])]
    layer = max(range(len(work)), key=work.__getitem__)
    start, inputs = layer_slices(sizes)[layer][0].start, sizes[layer]
    possible = [n for n in range(BLOCK, sizes[layer + 1], BLOCK) if (start + n * inputs) % VECTOR == 0]
    before, half = sum(work[:layer]), sum(work) / 2
    return (layer, min(possible, key=lambda n: abs(before + n * inputs - half))) if possible else None


def _forward(network: Mlp, rows: slice) -> list[Operation]:
    operations: list[Operation] = []
    below = network.inputs[rows]
    for weights, biases, outputs, activation in zip(
        network.weights, network.biases, network.layers, network.activations
    ):
        layer = outputs[0, rows]
        operations.append(_product(below, weights[0].T, layer))
        operations.append(partial(layer.add_, biases[0]))
        operations += activate(activation, layer)
        below = layer
    return operations


def _backward(network: Mlp, rows: slice) -> list[Operation]:
    operations: list[Operation] = []
    layers = [(layer[0, rows], delta[0, rows]) for layer, delta in zip(network.layers, network.deltas)]
    for index in range(len(layers) - 1, -1, -1):
        layer, delta = layers[index]
        operations += differentiate(network.activations[index], layer, delta)
        if index:
            operations.append(_product(delta, network.weights[index][0], layers[index - 1][1]))
    if network.input_columns is not None:
        columns = network.weights[0][0][:, network.input_columns]
        operations.append(_product(layers[0][1], columns, network.input_gradient[0, rows]))
    return operations


def _gradients(network: Mlp, cut: tuple[int, int]) -> list[list[Operation]]:
    first: list[Operation] = []
    second: list[Operation] = []
    below = [network.inputs, *(layer[0] for layer in network.layers)]
    for index, (weights, biases) in enumerate(zip(network.weight_gradients, network.bias_gradients)):
        delta, inputs = network.deltas[index][0], below[index]
        split = cut[1] if index == cut[0] else len(weights[0]) if index < cut[0] else 0
        for operations, part in ((first, slice(0, split)), (second, slice(split, None))):
            if len(weights[0][part]):
                operations.append(_product(delta[:, part].T, inputs, weights[0][part]))
        biased = first if index < cut[0] else second
        biased.append(partial(torch.sum, network.deltas[index], 1, keepdim=True, out=biases))
    return [first, second]


def _product(a: Tensor, b: Tensor, out: Tensor) -> Operation:
    """`out = a @ b`; unlike `numpy.dot`, `matmul` does not copy a part of a transposed matrix."""
    if b.shape[0] == 1:  # an outer product
        return partial(torch.mul, a, b, out=out)
    return partial(np.matmul, a.numpy(), b.numpy(), out=out.numpy())


@cache
def _exact(
    sizes: tuple[int, ...], activation: str, output: str, batch: int, gradients: bool, columns: tuple[int, int] | None
) -> bool:
    """Whether halves give the bits of the whole, tried on random numbers."""
    random = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=random)

    parameters = 0.1 * normal(1, parameter_count(sizes))
    wanted = torch.zeros_like(parameters) if gradients else None
    network = Mlp(
        sizes, activation, output, parameters, normal(batch, sizes[0]), wanted, slice(*columns) if columns else None
    )
    rows, cut = _rows(batch), _cut(sizes)
    assert rows is not None
    assert cut is not None
    divided, found = Halves(network, rows, cut), []
    slope = normal(batch, sizes[-1])
    for whole in (True, False):
        for tensor in chain(network.layers, network.deltas, () if wanted is None else (wanted,)):
            tensor.zero_()
        if whole:
            network.forward()
        else:
            for half in range(2):
                divided.forward(half)
        if network.deltas:
            network.output_gradient.copy_(slope)
            if whole:
                network.backward()
            else:
                for step in (divided.backward, divided.gradients):
                    for half in range(2):
                        step(half)
        results = [network.outputs, wanted, network.input_gradient if columns else None]
        found.append([tensor.numpy().tobytes() for tensor in results if tensor is not None])
    return found[0] == found[1]
