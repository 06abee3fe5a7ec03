"""Crossover of two policies: a child takes some rows of the other parent's weights, and some of its biases.

After Khadka and Tumer, "Evolution-Guided Policy Gradient in Reinforcement Learning", NeurIPS 2018, whose public code
the authors of ESAC took over.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from erlbench.policy import layer_slices

REPLACE, EXCHANGE = "replace", "exchange"
CROSSOVERS = (REPLACE, EXCHANGE)


def crossover(
    child: np.ndarray, other: np.ndarray, sizes: Sequence[int], exchange: bool, random: np.random.Generator
) -> np.ndarray:
    """`child` with some parts of `other`, both `(P,)` vectors of an MLP with layer widths `sizes`; a new array.

    A part is a row of a weight matrix, that is an output neuron's inputs, or one bias. Each matrix of R rows has k
    replacements, k uniform in 0 .. 2 R - 1, each bias vector of R elements k uniform in 0 .. R - 1. See `taken`.
    """
    result = child.copy()
    for (weight, bias), inputs in zip(layer_slices(sizes), sizes):
        for part, columns, most in ((weight, inputs, 2), (bias, 1, 1)):
            mine, theirs = result[part].reshape(-1, columns), other[part].reshape(-1, columns)
            rows = taken(len(mine), int(random.integers(most * len(mine))), exchange, random)
            mine[rows] = theirs[rows]
    return result


def taken(parts: int, replacements: int, exchange: bool, random: np.random.Generator) -> np.ndarray:
    """Which of `parts` parts the child takes from the other parent, distinct indices in order.

    Each replacement picks a part and a direction at random. One towards the child gives it the other's part. One
    towards the other parent has no effect on the child, unless they `exchange`: then the other's part is overwritten
    as well, so that the child cannot take it any more.
    """
    places, towards_child = random.integers(parts, size=replacements), random.random(replacements) < 0.5
    if exchange:  # a part's first replacement makes both equal
        places, first = np.unique(places, return_index=True)
        chosen: np.ndarray = places[towards_child[first]]
        return chosen
    return np.unique(places[towards_child])
