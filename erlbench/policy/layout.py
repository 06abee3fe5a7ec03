"""Where the tensors of a network stand in its flat vector, in PyTorch's order and by PyTorch's names.

It is the order of `torch.nn.utils.parameters_to_vector` for `torch.nn.Linear` (weight, bias) and `torch.nn.LSTM`
(weight_ih, weight_hh, bias_ih, bias_hh; in each the rows of the input, forget, cell and output gates).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Tensor:
    """A named part of the vector; `fan_in` is the number that PyTorch's initialisation depends on."""

    name: str
    shape: tuple[int, ...]
    place: slice
    fan_in: int


def layer_slices(sizes: Sequence[int]) -> list[tuple[slice, slice]]:
    """Weight and bias slices of each layer of an MLP with layer widths `sizes` in its flat vector."""
    places = [tensor.place for tensor in network_tensors(sizes)]
    return list(zip(places[::2], places[1::2]))


def parameter_count(sizes: Sequence[int]) -> int:
    """Number of weights and biases of an MLP with layer widths `sizes`."""
    return sum((inputs + 1) * outputs for inputs, outputs in zip(sizes, sizes[1:]))


def network_tensors(sizes: Sequence[int], *, bias: bool = True, lstm: bool = False) -> list[Tensor]:
    """The tensors of a network with layer widths `sizes`; with `lstm` its hidden layers are LSTM cells.

    `layer.N.weight` `(outputs, inputs)` and `layer.N.bias` are a linear layer's, N counted from 0 over all layers.
    `lstm.weight_ih_lN` `(4 * outputs, inputs)`, `lstm.weight_hh_lN` `(4 * outputs, outputs)`, `lstm.bias_ih_lN` and
    `lstm.bias_hh_lN` are an LSTM cell's.
    """
    tensors, start, last = [], 0, len(sizes) - 2
    for index, (inputs, outputs) in enumerate(zip(sizes, sizes[1:])):
        parts = _lstm(index, inputs, outputs, bias) if lstm and index < last else _linear(index, inputs, outputs, bias)
        for name, shape, fan_in in parts:
            tensors.append(Tensor(name, shape, slice(start, start + math.prod(shape)), fan_in))
            start = tensors[-1].place.stop
    return tensors


_Part = tuple[str, tuple[int, ...], int]


def _linear(index: int, inputs: int, outputs: int, bias: bool) -> Iterator[_Part]:
    yield f"layer.{index}.weight", (outputs, inputs), inputs
    if bias:
        yield f"layer.{index}.bias", (outputs,), inputs


def _lstm(index: int, inputs: int, outputs: int, bias: bool) -> Iterator[_Part]:
    yield f"lstm.weight_ih_l{index}", (4 * outputs, inputs), outputs
    yield f"lstm.weight_hh_l{index}", (4 * outputs, outputs), outputs
    if bias:
        yield f"lstm.bias_ih_l{index}", (4 * outputs,), outputs
        yield f"lstm.bias_hh_l{index}", (4 * outputs,), outputs
