"""Counter-based random numbers: every stream is named by a key, none is global.

A key is `(run seed, purpose, ...)`. The same key gives the same numbers in every process and in every
order of execution, so results depend neither on which worker ran a task nor on when.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

Key = tuple[int, ...]


class Purpose(IntEnum):
    """What a stream is for; the values are part of every result and never change."""

    PARAMETERS = 1  # initial weights
    NOISE = 2  # perturbations of a search distribution
    EPISODE = 3  # start states of training episodes
    MINIBATCH = 4  # replay indices and target-policy noise of gradient steps
    EXPLORATION = 5  # action noise and random actions
    EVALUATION = 6  # start states of evaluations on the way, common to all algorithms
    POPULATION = 7  # choices of an algorithm itself, such as which individuals are trained
    FITNESS = 8  # start states of the episodes that measure a mean's fitness
    FINAL_EVALUATION = 9  # start states of the final evaluation, common to all algorithms


def generator(*key: int) -> np.random.Generator:
    """The Philox generator of `key` (non-negative integers)."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(key)))


def environment_seed(*key: int) -> int:
    """The seed, in [0, 2**31), that `env.reset` gets for `key`."""
    return int(np.random.SeedSequence(key).generate_state(1)[0] >> 1)
