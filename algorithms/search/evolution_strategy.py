"""What strategies with one Gaussian of fixed shape share: shaping of returns, and the gradient from noise keys.

Salimans, Ho, Chen, Sidor, Sutskever, "Evolution Strategies as a Scalable Alternative to Reinforcement Learning",
2017. The gradient of E[F(theta + sigma e)] is estimated by a weighted sum of the perturbations e_j. No perturbation
is ever sent: tasks draw them again from their keys, one block of them each, and return one partial sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from erlbench.algorithms.base import Algorithm
from erlbench.work.noise import NoiseTable
from erlbench.work.seeding import Key, Purpose
from erlbench.work.tasks import Outcome, Result, Task
from erlbench.work.workspace import Workspace

NOISE_SUM = "erlbench.algorithms.search.evolution_strategy:noise_sum"
PERTURBATIONS = 64  # perturbations that one task sums; the result depends on it, so it never changes

CENTRED_RANKS, STANDARDISED, RAW = "centred-ranks", "standardised", "raw"
SHAPINGS = (CENTRED_RANKS, STANDARDISED, RAW)

CODE, PAPER = "code", "paper"
SCALINGS = (CODE, PAPER)


def centred_ranks(values: Sequence[float] | np.ndarray) -> np.ndarray:
    """Ranks of `values` scaled to [-0.5, 0.5], of the same shape, float64; ties share their average rank.

    The sum is 0, and it is all zeros where all values are equal. NaN counts as the lowest value, like -inf.
    """
    array = np.asarray(values, np.float64)
    flat = np.where(np.isnan(array), -np.inf, array).ravel()
    if flat.size < 2:
        return np.zeros(array.shape)
    _, group, counts = np.unique(flat, return_inverse=True, return_counts=True)
    average = np.cumsum(counts) - (counts + 1) / 2  # of the ranks 0, 1, ... in each group of ties
    ranks: np.ndarray = average[group] / (flat.size - 1) - 0.5
    return ranks.reshape(array.shape)


def shaped(returns: np.ndarray, shaping: str) -> np.ndarray:
    """`returns` of a whole generation as weights of the gradient, of the same shape, float64.

    `standardised`: minus their mean, divided by their standard deviation (zeros where that is 0).
    """
    if shaping == CENTRED_RANKS:
        return centred_ranks(returns)
    values = np.array(returns, np.float64)
    if shaping == RAW:
        return values
    values -= values.mean()
    deviation = values.std()
    return values / deviation if deviation > 0 else values


def mirrored_weights(fitness: np.ndarray, sigma: float, scaling: str) -> np.ndarray:
    """Weights `(m,)` of the perturbations of m mirrored pairs with shaped returns `fitness` `(m, 2)`: plus, minus.

    `paper` is its Algorithm 2, sum_i F_i e_i / (n sigma) with n = 2 m; the public code leaves out 1 / sigma.
    """
    weights: np.ndarray = (fitness[:, 0] - fitness[:, 1]) / (2 * len(fitness))
    return weights / sigma if scaling == PAPER else weights


@dataclass(frozen=True)
class NoiseSum:
    """Settings of the task function `noise_sum`."""

    keys: tuple[Key, ...]  # of the perturbations
    weights: tuple[float, ...]
    size: int  # of each
    table: NoiseTable | None


def gradient_tasks(
    algorithm: Algorithm[Any, Any],
    keys: Sequence[Key],
    weights: Sequence[float] | np.ndarray,
    size: int,
    table: NoiseTable | None = None,
) -> list[Task]:
    """The tasks whose results `gradient` adds up to sum_j weights[j] * e_j, with e_j `(size,)` named by keys[j].

    Perturbations of weight 0 cost nothing. There is always at least one task.
    """
    tasks: list[Task] = []
    for start in range(0, max(1, len(keys)), PERTURBATIONS):
        block = slice(start, start + PERTURBATIONS)
        settings = NoiseSum(tuple(keys[block]), tuple(map(float, weights[block])), size, table)
        # its key is not used: every number comes from those above
        tasks.append(algorithm.task("gradient", NOISE_SUM, Purpose.NOISE, settings, {}, individual=len(tasks)))
    return tasks


def noise_sum(settings: NoiseSum, inputs: Mapping[str, Any], key: Key, workspace: Workspace) -> Outcome:
    """Task function: the array `sum` `(size,)` float64 of weights[j] * e_j, in order of j."""
    total = np.zeros(settings.size)
    for name, weight in zip(settings.keys, settings.weights, strict=True):
        if weight:
            total += weight * workspace.store.noise(tuple(name), settings.size, settings.table).astype(np.float64)
    return Outcome({}, {"sum": total})


def gradient(algorithm: Algorithm[Any, Any], results: Iterable[Result]) -> np.ndarray:
    """The sum of all blocks, `(size,)` float64; in their order, so that it does not depend on who finished first."""
    ordered = sorted(results, key=lambda result: result.task)
    return reduce(np.add, [algorithm.context.store.get(result.arrays["sum"]) for result in ordered])
