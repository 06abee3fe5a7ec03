"""Automatic mutation tuning: a step size that grows with the distance of the best from the rest.

Suri, Shi, Plataniotis and Lawryshyn, "Maximum Mutation Reinforcement Learning for Scalable Control",
arXiv:2007.13690, 2020, section 5.2.
"""

from __future__ import annotations

import math

import numpy as np

from erlbench.algorithms.search.evolution_strategy import centred_ranks


def smooth_l1(x: float, y: float) -> float:
    """The Huber loss of `x` and `y`, never negative; eq. 4."""
    distance = abs(x - y)
    return 0.5 * distance**2 if distance < 1.0 else distance - 0.5


def raw_step(fitness: np.ndarray, sigma: float, learning_rate: float, population: int) -> float:
    """What eq. 5 adds to `sigma`: learning_rate / (population * sigma) * SmoothL1(best, mean) of `fitness` `(n,)`.

    Only finite values count; 0 without any.
    """
    finite = fitness[np.isfinite(fitness)]
    if not len(finite):
        return 0.0
    return learning_rate / (population * sigma) * smooth_l1(float(finite.max()), math.fsum(finite) / len(finite))


def tuned(sigma: float, step: float, clip: float) -> float:
    """`sigma` after a `raw_step`, which is clipped at `clip`; eq. 6."""
    return sigma + min(max(step, 0.0), clip)


def rewards(fitness: np.ndarray, ranked: bool) -> np.ndarray:
    """Returns as eq. 5 sees them, `(n,)`: raw as in the paper, or their centred ranks as in the public code."""
    return centred_ranks(fitness) if ranked else np.asarray(fitness, np.float64)
