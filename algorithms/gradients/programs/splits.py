"""Where an actor's passes can be split in two, so that two processes share them: no bit of the outcome changes.

Rows of a minibatch have nothing to do with each other, forward or backward; the gradients of the parameters, which sum
over rows, are split by parameters. Products of a half can differ in the last bit from those of the whole, depending on
the BLAS and its kernels, unless the split is where the kernels split anyway. So splits are at multiples of their block,
and it is tried for each shape, and each place in memory relative to vectors, whether they change a bit. The actions and
their gradients, small products that OpenBLAS's AVX-512 kernels split elsewhere, are computed whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import chain
from typing import NamedTuple

import torch
from torch import Tensor

from erlbench.algorithms.gradients.programs.networks import ALL, HIDDEN, LAST, Network
from erlbench.algorithms.gradients.programs.operations import on_cpu
from erlbench.algorithms.gradients.programs.parameters import Half
from erlbench.algorithms.gradients.programs.program import Lane
from erlbench.policy import layer_slices, parameter_count

ROWS_TOGETHER = 12  # rows that OpenBLAS's AVX2 kernels take together; those for AVX-512 take fewer
VECTOR = 16  # floats, 64 bytes; optimisers treat what is left over at the end of a vector otherwise


class Split(NamedTuple):
    """Lanes of one network, or of several with the same minibatch: `rows` of it, and `halves` of the parameters."""

    rows: list[slice]
    halves: list[Half | None]

    @property
    def adam(self) -> list[int | None]:
        """The piece of `Adam` that belongs to each of `halves`."""
        return [None] if len(self.halves) == 1 else [0, 1]


WHOLE = Split([ALL], [None])


def split_in_two(cores: int, *networks: Network) -> Split:
    """For one core the whole; for two halves, where all the networks can be split without a change.

    The parameters that are split are those of the first one. Its last layer's forward pass and all gradients of inputs
    have to be computed whole.
    """
    first_network = networks[0]
    rows, place = _rows(len(first_network.inputs)), _place(first_network.sizes)
    if cores == 1 or rows is None or place is None:
        return WHOLE
    if not all(_is_exact(network, network is first_network) for network in networks):
        return WHOLE
    return Split(list(rows), [Half(*place, first) for first in (True, False)])


def second_half(sizes: Sequence[int], parameters: Tensor) -> list[int]:
    """Where the second half of the flat `parameters` begins, for `Adam`; nothing where they cannot be split."""
    place = _place(tuple(sizes))
    if place is None or not on_cpu(parameters):
        return []
    layer, outputs = place
    return [layer_slices(sizes)[layer][0].start + outputs * sizes[layer]]


def _rows(batch: int) -> tuple[slice, slice] | None:
    middle = round(batch / 2 / ROWS_TOGETHER) * ROWS_TOGETHER
    return (slice(0, middle), slice(middle, batch)) if 0 < middle < batch else None


def _place(sizes: tuple[int, ...]) -> tuple[int, int] | None:
    """The split of the largest layer that brings the halves' work closest together; the second has the biases, too."""
    work = [inputs * outputs for inputs, outputs in zip(sizes, sizes[1:])]
    layer = max(range(len(work)), key=work.__getitem__)
    start, inputs = layer_slices(sizes)[layer][0].start, sizes[layer]
    possible = [n for n in range(ROWS_TOGETHER, sizes[layer + 1], ROWS_TOGETHER) if (start + n * inputs) % VECTOR == 0]
    before, half = sum(work[:layer]), sum(work) / 2
    return (layer, min(possible, key=lambda n: abs(before + n * inputs - half))) if possible else None


def _is_exact(network: Network, last_whole: bool) -> bool:
    if len(network.outputs) > 1 or not on_cpu(network.inputs):
        return False
    columns = network.input_columns
    wanted = (columns.start, columns.stop) if columns else None
    offsets = tuple(flat.data_ptr() // flat.element_size() % VECTOR for flat in (network.inputs, *network.flat))
    return _tried(network.sizes, tuple(network.activations), len(network.inputs), offsets, wanted, last_whole)


@cache
def _tried(
    sizes: tuple[int, ...],
    activations: tuple[str, ...],
    batch: int,
    offsets: tuple[int, ...],
    columns: tuple[int, int] | None,
    last_whole: bool,
) -> bool:
    """Whether halves give the bits of the whole, tried on random numbers.

    `offsets`: by how many floats inputs, parameters and gradients, if there are any, begin after the start of a vector.
    `last_whole`: the last layer goes forward in one piece.
    """
    random = torch.Generator().manual_seed(0)

    def normal(*shape: int, offset: int = 0) -> Tensor:
        numbers = torch.randn(*shape, generator=random)
        return numbers.new_zeros(numbers.numel() + VECTOR)[offset:][: numbers.numel()].view(shape).copy_(numbers)

    rows, place = _rows(batch), _place(sizes)
    if rows is None or place is None:
        return False
    inputs = normal(batch, sizes[0], offset=offsets[0])
    parameters, *learnt = (normal(1, parameter_count(sizes), offset=offset).mul_(0.1) for offset in offsets[1:])
    gradients = learnt[0] if learnt else None
    wanted = slice(*columns) if columns else None
    network = Network(sizes, activations[0], activations[-1], parameters, inputs, gradients, wanted)
    slope = normal(batch, sizes[-1])
    parameter_halves: list[Half | None] = [Half(*place, first) for first in (True, False)]
    whole, row_halves = WHOLE.rows, list(rows)
    tried = Split(row_halves, parameter_halves), whole if last_whole else row_halves
    return _results(network, WHOLE, whole, slope, gradients) == _results(network, *tried, slope, gradients)


def _results(
    network: Network, lanes: Split, last: Sequence[slice], slope: Tensor, gradients: Tensor | None
) -> list[bytes]:
    """The bytes of what passes in these lanes give; `last`: the rows of the last layer's forward pass."""
    for tensor in chain(network.layers, network.deltas, () if gradients is None else (gradients,)):
        tensor.zero_()
    _run(*(network.forward(rows=rows, layers=HIDDEN) for rows in lanes.rows))
    _run(*(network.forward(rows=rows, layers=LAST) for rows in last))
    results = [network.outputs, *network.deltas]
    if network.deltas:
        network.output_gradient.copy_(slope)
        _run(*(network.backward(rows=rows) for rows in lanes.rows))
    if gradients is not None:
        _run(*(network.gradients(half=half) for half in lanes.halves))
        results.append(gradients)
    return [tensor.numpy().tobytes() for tensor in results]


def _run(*lanes: Lane) -> None:
    for operation in chain(*lanes):
        operation()
