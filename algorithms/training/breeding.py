"""Settings of the tasks of PDERL's operators, whose functions are in `gradients/distillation.py`."""

from __future__ import annotations

from dataclasses import dataclass

from erlbench.algorithms.training.critic import CriticSpec
from erlbench.policy import PolicySpec

Ranges = tuple[tuple[int, int], ...]  # of transitions of the replay


@dataclass(frozen=True)
class Distillation:
    """A child that is distilled from two parents."""

    policy: PolicySpec
    critic: CriticSpec
    ranges: Ranges  # of the memories of both
    epochs: int
    batch_size: int
    learning_rate: float


@dataclass(frozen=True)
class ProximalMutation:
    """A mutation that is scaled by the sensitivity of the actions."""

    policy: PolicySpec
    ranges: Ranges  # of the individual's memory
    magnitude: float
    batch_size: int
