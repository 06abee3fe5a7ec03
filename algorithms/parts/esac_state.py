"""What ESAC keeps between tasks, and what of it goes to train.csv."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from erlbench.algorithms.search.optimisers import Moments
from erlbench.work.tasks import ArrayRef, Perturbed, Result

VALIDATED = ("es", "sac", "winner")  # the ES mean, the SAC policy, the best individual


@dataclass(kw_only=True)
class SACPart:
    """The SAC agent and what it last did."""

    learner: ArrayRef  # see sac.initial_learner
    actor: ArrayRef  # its deterministic policy theta
    temperature: float
    due: bool = False  # whether it acts and learns in this generation
    probability: float = math.nan  # of that, if it is the turn of such a generation
    timesteps: int = 0
    intervals: int = 0  # generations in which it acted
    last_return: float = math.nan  # mean of its latest episodes
    critic_loss: float = 0.0
    entropy: float = 0.0


@dataclass(kw_only=True)
class ESACState:
    """Everything ESAC needs to go on."""

    sac: SACPart
    mean: np.ndarray  # theta_es, (P,) float64
    mean_ref: ArrayRef
    moments: Moments  # of the ES optimiser
    sigma: float
    waiting: int = 0  # tasks of this generation that are not told
    individuals: list[Perturbed] = field(default_factory=list)  # of this generation
    fitness: dict[int, float] = field(default_factory=dict)  # by individual, those evaluated so far
    sums: list[Result] = field(default_factory=list)  # of the gradient's blocks
    children: list[ArrayRef] = field(default_factory=list)  # centres of the first members, crossed over
    winner: Perturbed | None = None  # the best individual of the generation before
    amt_steps: int = 0  # of sigma
    amt_clipped: int = 0  # of these, at zeta
    best: float = math.nan  # fitness in the generation before
    average: float = math.nan
    winning_children: int = 0
    winning_copies: int = 0  # of the SAC policy
    scores: dict[str, float] = field(default_factory=dict)  # by VALIDATED, at the latest validation

    @property
    def reports_sac(self) -> bool:
        """Whether the SAC policy was better than the ES mean."""
        es, sac = (self.scores.get(name, -math.inf) for name in VALIDATED[:2])
        return sac > es

    def metrics(self) -> dict[str, float]:
        """Columns of train.csv."""
        sac = self.sac
        return {
            "fitness_best": self.best,
            "fitness_mean": self.average,
            "sigma": self.sigma,
            "amt_steps": self.amt_steps,
            "amt_clip_rate": self.amt_clipped / self.amt_steps if self.amt_steps else math.nan,
            "winning_children": self.winning_children,
            "winning_sac": self.winning_copies,
            "p_sac": sac.probability,
            "sac_intervals": sac.intervals,
            "sac_timesteps": sac.timesteps,
            "sac_return": sac.last_return,
            "critic_loss": sac.critic_loss,
            "entropy": sac.entropy,
            "temperature": sac.temperature,
            **{f"score_{name}": self.scores.get(name, math.nan) for name in VALIDATED},
            "reports_sac": int(self.reports_sac),
        }
