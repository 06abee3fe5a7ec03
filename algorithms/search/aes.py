"""AES-RL's search: every individual moves mean and variance by itself, by ten pairs of rules.

Lee, Lee, Shin, Kweon, "An Efficient Asynchronous Method for Integrating Evolutionary and Gradient-based Policy
Search", NeurIPS 2020, sections 3.3 and 3.4, with details of its public code (github.com/KyunghyunLee/aes-rl).
The rules are in `aes_updates.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from erlbench.algorithms.search.aes_updates import (
    MEAN_UPDATES,
    OLDEST,
    ONLINE_ADAPTIVE,
    ONLINE_FIXED,
    RANK_BASED,
    SUCCESS_RULE_FROZEN,
    VARIANCE_UPDATES,
    FitnessScale,
    freeze,
    move,
    oldest,
    online_adaptive,
    online_fixed,
    slide,
    success_rule,
    update_ratio,
)
from erlbench.algorithms.search.cem import cem_variance, decayed, elite_weights, weighted_moments
from erlbench.algorithms.search.search import (
    AS_SAMPLES,
    HANSEN,
    MEAN_ONLY,
    GaussianSearch,
    GaussianState,
    Individual,
    own_displacement,
    shortened,
)
from erlbench.algorithms.search.search_distribution import ranking
from erlbench.settings import at_least_one, at_least_zero, fraction, setting

CODE = "AES-RL, public code"
PAPER = "AES-RL, section 3"

# About 0.16 of a good score; the first six are the authors', the others ours.
FITNESS_SCALE = {
    "HalfCheetah": 2000.0,
    "Walker2d": 800.0,
    "Hopper": 600.0,
    "Ant": 960.0,
    "Humanoid": 960.0,
    "Swimmer": 48.0,
    "HumanoidStandup": 20000.0,
    "InvertedDoublePendulum": 1500.0,
    "InvertedPendulum": 160.0,
    "Pendulum": 200.0,
    "Pusher": 10.0,
    "Reacher": 6.0,
}
ABSOLUTE = "absolute_baseline"
SCALES = {
    "fixed-range-linear": "fitness_range",
    "fixed-range-sigmoid": "fitness_range",
    "baseline-absolute": ABSOLUTE,
    "baseline-absolute-clipped": ABSOLUTE,
    "baseline-relative": "baseline",
}
SCALE_SOURCE = "AES-RL, public code (Mujoco's locomotion tasks); else about 0.16 of a good score"


@dataclass(frozen=True, kw_only=True)
class AESSearchSettings:
    """Hyper-parameters of the two rules."""

    mean_update: str = setting("baseline-relative", "how far the mean moves", PAPER, choices=MEAN_UPDATES)
    variance_update: str = setting(ONLINE_ADAPTIVE, "how the variance adapts", PAPER, choices=VARIANCE_UPDATES)
    fitness_range: float | None = setting(
        None,
        "scale of the fixed-range rules, in units of return; none: the standard deviation of the warm-up's returns",
        SCALE_SOURCE,
        by_env=FITNESS_SCALE,
        minimum=1e-9,
        symbol="r",
    )
    baseline: float | None = setting(
        None,
        "offset of the relative baseline, in units of return; none: as for `fitness_range`",
        SCALE_SOURCE,
        by_env=FITNESS_SCALE,
        minimum=1e-9,
        symbol="f_b",
    )
    absolute_baseline: float | None = setting(
        None,
        "offset of the absolute baseline, a bad score; none: minus `baseline`, or the lowest of the warm-up's returns "
        "if that is none, too",
        "AES-RL, public code; else ours",
        by_env={"Pendulum": -1600.0, "Pusher": -150.0, "Reacher": -60.0},
        symbol="f_b",
    )
    p_positive: float = setting(1.0, "factor of p for better individuals", CODE)
    p_negative: float = setting(0.0, "factor of p for worse individuals", CODE)
    n_fixed: float = at_least_one(10.0, "population of the online variance update, fixed", CODE, symbol="n")
    initial_variance: float = at_least_zero(1e-3, "initial variance of each parameter", CODE)
    variance_min: float = at_least_zero(
        1e-5, "smallest variance; also the limit of the rank-based rule's epsilon", CODE
    )
    success_threshold: float = fraction(0.2, "success ratio above which the variance grows", CODE)
    success_factor: float = setting(0.99, "change of the variance per individual, success rule", CODE, minimum=0.01)
    window: int = setting(
        10, "last individuals that the rank-based rules and the success rule look at", CODE, minimum=2, symbol="n"
    )
    elites: int = at_least_one(5, "best of them that count in the rank-based rules", CODE)
    tau_cem: float = fraction(0.90, "epsilon's decay per `window` individuals (rank-based)", CODE)
    extra_ke_division: bool = setting(True, "divide the rank-based variance by K_e once more", CODE)
    mean_episodes: int = at_least_one(5, "episodes that measure f(mu), once per individual", CODE)
    always_measure: bool = setting(
        False, "play these episodes even if no rule uses f(mu)", "off: our choice; AES-RL's code does it"
    )

    def __post_init__(self) -> None:
        if self.elites > self.window:
            raise ValueError(f"elites ({self.elites}) cannot exceed window ({self.window})")
        if self.mean_update == OLDEST and self.variance_update in (ONLINE_FIXED, ONLINE_ADAPTIVE):
            raise ValueError(
                f"mean_update 'oldest' has no update ratio, which variance_update '{self.variance_update}' needs; "
                f"use '{RANK_BASED}'"
            )

    @property
    def scale_setting(self) -> str:
        """The setting that is the r or f_b of the mean update; empty for those without one."""
        return SCALES.get(self.mean_update, "")

    @property
    def scale(self) -> float | None:
        """The r or f_b of the mean update; None where it has none, or the run finds it out."""
        value: float | None = getattr(self, self.scale_setting, None)
        if value is None and self.scale_setting == ABSOLUTE and self.baseline is not None:
            return -self.baseline
        return value


@dataclass(kw_only=True)
class AESState(GaussianState):
    """Mean and variance, and what the rules remember."""

    epsilon: float  # of the rank-based variance
    ring: list[Individual] = field(default_factory=list)  # the last ones, for the rank-based rules
    successes: list[bool] = field(default_factory=list)
    ratio: float = math.nan  # p of the latest update
    scale: FitnessScale | None = None  # of returns, where the settings have none


class AESSearch(GaussianSearch[AESSearchSettings, AESState]):
    """Moves the mean towards each individual by the ratio p, and adapts the variance."""

    settings_type: ClassVar[type] = AESSearchSettings
    injection: ClassVar[str] = AS_SAMPLES

    def start(self, mean: np.ndarray) -> AESState:
        settings = self.settings
        self._weights = elite_weights(settings.elites)
        scale = FitnessScale() if settings.scale is None and settings.scale_setting else None
        return AESState(distribution=self.distribution(mean), epsilon=settings.initial_variance, scale=scale)

    @classmethod
    def count_population(cls, settings: AESSearchSettings) -> int:
        return settings.window

    @property
    def at_once(self) -> int:
        return 1

    @property
    def mean_episodes(self) -> int:
        settings = self.settings
        ranks_alone = settings.mean_update == OLDEST and settings.variance_update == RANK_BASED
        return 0 if ranks_alone and not settings.always_measure else settings.mean_episodes

    def seen(self, fitness: float, warm: bool) -> None:
        if self.state.scale is not None:
            self.state.scale.add(fitness, warm)

    def tell(self, individuals: Sequence[Individual]) -> None:
        for individual in individuals:
            self.state.ratio = self._update(individual)

    def _update(self, individual: Individual) -> float:
        """Move mean and variance; the ratio p that was used, for the oldest rule 1 / window."""
        settings, state, f_z, f_mean = self.settings, self.state, individual.fitness, individual.f_mean
        ranks = settings.mean_update == OLDEST or settings.variance_update == RANK_BASED
        centre, spread = self._rank(individual) if ranks else (None, None)
        old, variance = state.distribution.mean, state.distribution.variance
        z = np.asarray(self.context.store.load(individual.z))
        if individual.injected and self.injected == HANSEN:
            z = old + shortened(z - old, np.sqrt(variance))
        if settings.mean_update == OLDEST:
            p = 0.0 if centre is None else 1.0 / settings.window
            mean = old if centre is None else oldest(old, centre, settings.window)
        else:
            psg = settings.p_positive, settings.p_negative
            p = update_ratio(settings.mean_update, f_z, f_mean, self._scale(), psg)
            mean = move(old, z, p) if p else old
        if self.injected != MEAN_ONLY:
            variance = self._adapted(variance, z, old, mean, p, spread, f_z > f_mean)
        elif not individual.injected:
            z = old + own_displacement(self, individual, old)
            variance = self._adapted(variance, z, old, move(old, z, p), p, spread, f_z > f_mean)
        self.move(mean, variance)
        return p

    def _adapted(
        self, variance: np.ndarray, z: np.ndarray, old: np.ndarray, mean: np.ndarray, p: float,
        spread: np.ndarray | None, success: bool,
    ) -> np.ndarray:  # fmt: skip
        """The variance by the rule of the settings, `(P,)`."""
        settings, state, rule = self.settings, self.state, self.settings.variance_update
        if rule == ONLINE_ADAPTIVE:
            return online_adaptive(variance, z, old, mean, p, settings.variance_min)
        if rule == ONLINE_FIXED:
            return online_fixed(variance, z, old, mean, p, settings.n_fixed, settings.variance_min)
        if rule == RANK_BASED:
            if spread is None:
                return variance
            # `window` individuals decay epsilon like one generation.
            state.epsilon = decayed(state.epsilon, settings.tau_cem ** (1.0 / settings.window), settings.variance_min)
            return cem_variance(spread, state.epsilon, settings.elites, settings.extra_ke_division)
        remember = freeze if rule == SUCCESS_RULE_FROZEN else slide
        state.successes, acts = remember(state.successes, success, settings.window)
        constants = settings.success_threshold, settings.success_factor, settings.variance_min
        return success_rule(variance, state.successes, *constants) if acts else variance

    def _rank(self, individual: Individual) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Put an individual into the ring, in the oldest one's place; the elites' moments once the ring is full."""
        settings, state = self.settings, self.state
        state.ring = [*state.ring, individual][-settings.window :]
        if len(state.ring) < settings.window:
            return None, None
        best = ranking([member.fitness for member in state.ring])[: settings.elites]
        elites = self.positions(state.ring[index] for index in best)
        centre, spread = weighted_moments(state.distribution.mean, elites, self._weights)
        return centre, self._own_spread() if self.injected == MEAN_ONLY else spread

    def _own_spread(self) -> np.ndarray | None:
        """The spread of the best samples of the ring, trained ones left out."""
        samples = [member for member in self.state.ring if not member.injected]
        best = ranking([member.fitness for member in samples])[: self.settings.elites]
        mean, weights = self.state.distribution.mean, elite_weights(max(1, len(best)))
        moves = (own_displacement(self, samples[index], mean) for index in best)
        return sum((w * d**2 for w, d in zip(weights, moves)), np.zeros_like(mean)) if best else None

    def _scale(self) -> float:
        """The r or f_b of the mean update: the settings', else what the first individuals' returns give."""
        scale = self.state.scale
        if scale is None:
            return self.settings.scale or 0.0
        return scale.worst() if self.settings.scale_setting == ABSOLUTE else scale.now()

    def measured(self) -> dict[str, float]:
        scale = self.state.scale
        return {self.settings.scale_setting: self._scale()} if scale is not None and scale.known else {}
