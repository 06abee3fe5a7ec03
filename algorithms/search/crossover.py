"""Crossover of two policies: children with some rows of each parent's weights, and some of its biases.

After Khadka and Tumer, "Evolution-Guided Policy Gradient in Reinforcement Learning", NeurIPS 2018, whose public code
the authors of ESAC took over.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from erlbench.policy.spec import Tensor

REPLACE, EXCHANGE = "replace", "exchange"
CROSSOVERS = (REPLACE, EXCHANGE)


def crossover(
    first: np.ndarray, second: np.ndarray, tensors: Iterable[Tensor], exchange: bool, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Two children, new arrays: `first` with some parts of `second`, and the other way round; all `(P,)`.

    A part is a row of a weight matrix, that is an output neuron's inputs, or one bias. Each matrix of R rows has k
    replacements, k uniform in 0 .. 2 R - 1, each bias vector of R elements k uniform in 0 .. R - 1. See `taken`.
    """
    children = first.copy(), second.copy()
    for tensor in tensors:
        rows = tensor.shape[0]
        mine, theirs = (child[tensor.place].reshape(rows, -1) for child in children)
        replacements = int(random.integers((2 if len(tensor.shape) == 2 else 1) * rows))
        to_first, to_second = taken(rows, replacements, exchange, random)
        mine[to_first], theirs[to_second] = theirs[to_first], mine[to_second]
    return children


def taken(parts: int, replacements: int, exchange: bool, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Which of `parts` parts the first child takes from the second parent, and the second from the first.

    Each replacement picks a part and one of the two children, which gets the other parent's part. If the parents
    `exchange`, they are overwritten as well: a part is equal in both after its first replacement. The indices are
    distinct and in order.
    """
    places, to_first = random.integers(parts, size=replacements), random.random(replacements) < 0.5
    if exchange:
        places, at = np.unique(places, return_index=True)
        return places[to_first[at]], places[~to_first[at]]
    return np.unique(places[to_first]), np.unique(places[~to_first])
