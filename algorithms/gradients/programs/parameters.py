"""What a network's flat vector of parameters consists of: layers, and two halves, one for each of two lanes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor

from erlbench.policy import layer_slices


class Half(NamedTuple):
    """The parameters before output `split` of the layer `layer` (`first`), or those from there on."""

    layer: int
    split: int
    first: bool

    def outputs(self, layer: int) -> slice:
        """The outputs of `layer` whose weights belong to the half."""
        split = self.split if layer == self.layer else None if layer < self.layer else 0
        return slice(0, split) if self.first else slice(split, None) if split is not None else slice(0, 0)

    def has_biases(self, layer: int) -> bool:
        """Whether the biases of `layer` belong to the half."""
        return (layer < self.layer) == self.first


def layers(vectors: Tensor, sizes: Sequence[int]) -> tuple[list[Tensor], list[Tensor]]:
    """Views of flat vectors as weights `(networks, outputs, inputs)` and biases `(networks, 1, outputs)`."""
    shapes = list(zip(layer_slices(sizes), sizes, sizes[1:]))
    weights = [vectors[:, weight].view(-1, outputs, inputs) for (weight, _), inputs, outputs in shapes]
    return weights, [vectors[:, None, bias] for (_, bias), _, _ in shapes]
