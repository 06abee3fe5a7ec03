"""The layers that a network's flat vector of parameters consists of."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from erlbench.policy import layer_slices


def layers(vectors: Tensor, sizes: Sequence[int]) -> tuple[list[Tensor], list[Tensor]]:
    """Views of flat vectors as weights `(networks, outputs, inputs)` and biases `(networks, 1, outputs)`."""
    shapes = list(zip(layer_slices(sizes), sizes, sizes[1:]))
    weights = [vectors[:, weight].view(-1, outputs, inputs) for (weight, _), inputs, outputs in shapes]
    return weights, [vectors[:, None, bias] for (_, bias), _, _ in shapes]
