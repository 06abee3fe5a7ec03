"""The hyper-parameters of ESAC and its presets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from erlbench.algorithms.individuals import FitnessSettings
from erlbench.algorithms.sac import SACSettings
from erlbench.algorithms.search.crossover import CROSSOVERS
from erlbench.settings import setting

PAPER, CODE, OURS = "ESAC", "ESAC, public code", "this suite"
TABLE, SIGMA = "ESAC, appendix D", 5e-3
MIRRORED, PAIRS, INDEPENDENT = "mirrored", "pairs", "independent"
ADAM, SGD = "adam", "sgd"
NOMINAL, BUDGET = "nominal", "budget"
RAW, RANK = "raw", "rank"
SAC_EPISODES = {
    "Ant": 10, "Hopper": 10, "Humanoid": 10, "Walker2d": 10, "Swimmer": 1, "dm_control": 1,
    "dm_control/cartpole-swingup": 5, "dm_control/walker-run": 5, "dm_control/walker-walk": 5,
}  # fmt: skip

# v1: Algorithm 1's critics with a state-value network. code: sizes and timing of the public code, not its faults.
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "paper": {},
    "v1": {"critic": "v1"},
    "code": {
        "population": 10,
        "sampling": PAIRS,
        "sac_members": 4,
        "hidden": (256, 256),
        "critic_hidden": (256, 256),
        "amt_every": 20,
        "amt_rewards": RANK,
    },
}


@dataclass(frozen=True, kw_only=True)
class ESACSettings(FitnessSettings, SACSettings):
    """Hyper-parameters of ESAC; those of its SAC part are SAC's."""

    hidden: tuple[int, ...] = setting((512, 512), "widths of the policies' hidden layers", PAPER, minimum=1)
    critic_hidden: tuple[int, ...] = setting(
        (512, 512), "widths of the hidden layers of critics and value network", PAPER, minimum=1
    )
    temperature: float | None = setting(0.2, "fixed temperature alpha; none: it is learnt, from 1 on", CODE, minimum=0)
    start_timesteps: int = setting(
        10_000, "SAC acts at random before this nominal timestep; it learns at once", CODE, minimum=0
    )
    population: int = setting(50, "members n of a generation", TABLE, minimum=2)
    sampling: str = setting(
        MIRRORED,
        "mirrored: members around the mean come in pairs; pairs: every member is evaluated with both signs; "
        "independent: no pairs",
        OURS,
        choices=(MIRRORED, PAIRS, INDEPENDENT),
    )
    sigma_init: float = setting(SIGMA, "initial mutation rate sigma", TABLE, by_env={"dm_control": 1e-2}, minimum=1e-12)
    es_learning_rate: float = setting(
        5e-3, "step size of the ES update", TABLE, by_env={"Ant": 1e-4, "dm_control": 1e-2}, minimum=0
    )
    optimiser: str = setting(ADAM, "of the ES update; sgd is plain ascent", CODE, choices=(ADAM, SGD))
    winner_fraction: float = setting(
        0.4, "share e of the members that are winners, and are crossed over", TABLE, minimum=0, maximum=1
    )
    crossover: str = setting(
        "replace", "replace: winners stay as they are; exchange: parts go both ways", OURS, choices=CROSSOVERS
    )
    sac_members: int | None = setting(
        None,
        "copies of the SAC policy in the population; none: 0.08 n, at least 1",
        "4 in the public code",
        by_env={"Swimmer": 1},
        minimum=0,
    )
    gradient_interval: int = setting(5, "SAC may act and learn only in every g-th generation", CODE, minimum=1)
    sac_episodes: int = setting(5, "episodes of SAC at a time", TABLE, by_env=SAC_EPISODES, minimum=1)
    p_start: float = setting(1.0, "initial probability that SAC acts when it may", CODE, minimum=0, maximum=1)
    p_end: float = setting(0.1, "final probability that SAC acts when it may", CODE, minimum=0, maximum=1)
    p_timesteps: float = setting(1.2e6, "timesteps in which this probability decays by the factor e", CODE, minimum=1)
    p_clock: str = setting(
        NOMINAL,
        "clock of this decay: nominal timesteps, or the used part of the budget in millionths",
        CODE,
        choices=(NOMINAL, BUDGET),
    )
    amt_clip: float = setting(1e-4, "largest step zeta of sigma", CODE, minimum=0)
    amt_every: int | None = setting(
        None, "generations between steps of sigma; none: whenever SAC has learnt", PAPER, minimum=1
    )
    amt_rewards: str = setting(RAW, "rewards that tune sigma: raw or centred ranks", PAPER, choices=(RAW, RANK))
    validation_every: int = setting(
        10, "generations between validations, which choose the reported policy", OURS, minimum=1
    )
    validation_episodes: int = setting(10, "episodes of each validated policy", PAPER, minimum=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.winners + self.copies >= self.population:
            raise ValueError(
                f"{self.winners} winners and {self.copies} copies of SAC leave no member of a population of "
                f"{self.population} around the mean; lower winner_fraction or sac_members"
            )

    @property
    def winners(self) -> int:
        """Members w that are selected and crossed over."""
        return int(self.winner_fraction * self.population + 1e-9)

    @property
    def copies(self) -> int:
        """Members k that are copies of the SAC policy."""
        return max(1, round(0.08 * self.population)) if self.sac_members is None else self.sac_members

    def probability(self, t: float) -> float:
        """p(t) = end + (start - end) exp(-t / timesteps), of taking a chance for SAC to act and learn."""
        return self.p_end + (self.p_start - self.p_end) * math.exp(-t / self.p_timesteps)

    def mean_probability(self, end: float) -> float:
        """The mean of p(t) from 0 to `end` > 0."""
        spans = end / self.p_timesteps
        return self.p_end + (self.p_start - self.p_end) * -math.expm1(-spans) / spans
