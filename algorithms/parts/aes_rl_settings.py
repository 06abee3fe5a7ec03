"""Hyper-parameters of AES-RL and their presets: the combinations of update rules that its paper compares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from erlbench.algorithms.individuals import START_STATES, FitnessSettings
from erlbench.algorithms.policy_settings import OURS
from erlbench.algorithms.search.mean_updates import MEAN_UPDATES, OLDEST, Psg
from erlbench.algorithms.search.variance_updates import ONLINE_ADAPTIVE, ONLINE_FIXED, RANK_BASED, VARIANCE_UPDATES
from erlbench.algorithms.training.actor_critic_settings import ActorCriticSettings
from erlbench.settings import setting

CODE = "AES-RL, public code"
PAPER = "AES-RL, section 3"
RANDOM, OWN = "random-actions", "own-policies"

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
SCALE_SOURCE = "AES-RL, public code (Mujoco's locomotion tasks); else about 0.16 of a good score"


@dataclass(frozen=True, kw_only=True)
class AESRLSettings(ActorCriticSettings, FitnessSettings):
    """Hyper-parameters of AES-RL."""

    mean_update: str = setting("baseline-relative", "how far the mean moves", PAPER, choices=MEAN_UPDATES)
    variance_update: str = setting(ONLINE_ADAPTIVE, "how the variance adapts", PAPER, choices=VARIANCE_UPDATES)
    range: float | None = setting(
        None,
        "r of the fixed-range rules, in units of return; none: the standard deviation of the warm-up's returns",
        SCALE_SOURCE,
        by_env=FITNESS_SCALE,
        minimum=1e-9,
    )
    baseline: float | None = setting(
        None,
        "f_b of the relative baseline, in units of return; none: as for `range`",
        SCALE_SOURCE,
        by_env=FITNESS_SCALE,
        minimum=1e-9,
    )
    absolute_baseline: float | None = setting(
        None,
        "f_b of the absolute baseline, a bad score; none: minus `baseline`, or the lowest of the warm-up's returns if "
        "that is none, too",
        "AES-RL, public code; else ours",
        by_env={"Pendulum": -1600.0, "Pusher": -150.0, "Reacher": -60.0},
    )
    psg_positive: float = setting(1.0, "factor of p for better individuals (p_positive)", CODE)
    psg_negative: float = setting(0.0, "factor of p for worse individuals (p_negative)", CODE)
    n_fixed: float = setting(10.0, "n of the online variance update with a fixed population", CODE, minimum=1)
    p_desired: float = setting(
        0.5, "share of individuals that are trained by gradients", CODE, by_env={"Swimmer": 0.1}, minimum=0, maximum=1
    )
    k_rl: float = setting(50.0, "gain of the population control (K_rl)", CODE, minimum=0)
    initial_variance: float = setting(1e-3, "initial variance of each parameter", CODE, minimum=0)
    floor: float = setting(1e-5, "smallest variance; also the limit of the rank-based rule's epsilon", CODE, minimum=0)
    success_threshold: float = setting(0.2, "success ratio above which the variance grows", CODE, minimum=0, maximum=1)
    success_factor: float = setting(0.99, "change of the variance per individual, success rule", CODE, minimum=0.01)
    ring: int = setting(10, "last individuals that the rank-based rules and the success rule look at", CODE, minimum=2)
    elites: int = setting(5, "best of them that count in the rank-based rules", CODE, minimum=1)
    tau_cem: float = setting(0.90, "epsilon's decay per `ring` individuals (rank-based)", CODE, minimum=0, maximum=1)
    extra_ke_division: bool = setting(True, "divide the rank-based variance by K_e once more", CODE)
    start_states: str = setting(
        "fresh",
        "start states of episodes: fresh, the same for an individual and its mean (generation), or fixed for the run",
        OURS,
        choices=START_STATES,
    )
    mean_episodes: int = setting(5, "episodes that measure f(mu), once per individual", CODE, minimum=1)
    always_measure: bool = setting(
        False, "play these episodes even if no rule uses f(mu)", "off: our choice; AES-RL's code does it"
    )
    critic_block: int = setting(1000, "critic updates per block", CODE, minimum=1)
    critic_ratio: float | None = setting(
        None,
        "fixed number of critic updates per timestep: the critic waits for individuals, and new individuals wait for a "
        "critic that is a block behind; "
        "none: the critic makes at most one per timestep, and nothing waits for it",
        OURS,
        minimum=1e-9,
    )
    actor_episodes: int = setting(
        10, "an actor gets as many updates as the last so many episodes had steps", CODE, minimum=1
    )
    start_timesteps: int = setting(10_000, "timesteps of warm-up, without gradients", CODE, minimum=0)
    warmup: str = setting(RANDOM, "what individuals do during the warm-up", CODE, choices=(RANDOM, OWN))
    tell_in_warmup: bool = setting(
        False, "update the distribution with returns of random actions too", "off: our choice; AES-RL's code does it"
    )
    hidden: tuple[int, ...] = setting(
        (400, 300), "widths of the hidden layers of actor and critics", CODE, by_env={"Humanoid": (256, 256)}, minimum=1
    )
    actor_learning_rate: float = setting(
        1e-3, "Adam's step size for actors", CODE, by_env={"Humanoid": 3e-4}, minimum=0
    )
    critic_learning_rate: float = setting(
        1e-3, "Adam's step size for the critics", CODE, by_env={"Humanoid": 3e-4}, minimum=0
    )
    batch_size: int = setting(256, "transitions per gradient step", CODE, minimum=1)
    replay_size: int = setting(200_000, "latest transitions to learn from", CODE, minimum=1)

    def __post_init__(self) -> None:
        self.check_learner()
        if self.elites > self.ring:
            raise ValueError(f"elites ({self.elites}) cannot exceed ring ({self.ring})")
        if self.mean_update == OLDEST and self.variance_update in (ONLINE_FIXED, ONLINE_ADAPTIVE):
            raise ValueError(
                f"mean_update 'oldest' has no update ratio, which variance_update '{self.variance_update}' needs; "
                f"use '{RANK_BASED}'"
            )

    @property
    def is_absolute(self) -> bool:
        """Whether the mean update needs a bad score in place of a scale."""
        return self.mean_update.startswith("baseline-absolute")

    @property
    def scale(self) -> float | None:
        """The r or f_b of the mean update; None where the run finds it out."""
        if self.is_absolute:
            minus = None if self.baseline is None else -self.baseline
            return minus if self.absolute_baseline is None else self.absolute_baseline
        return self.baseline if self.mean_update == "baseline-relative" else self.range

    @property
    def scale_setting(self) -> str:
        """The setting that `scale` is of; empty for mean updates without one."""
        if self.mean_update in ("full-move", OLDEST):
            return ""
        relative = "baseline" if self.mean_update == "baseline-relative" else "range"
        return "absolute_baseline" if self.is_absolute else relative

    @property
    def psg(self) -> Psg:
        """(p_positive, p_negative)."""
        return self.psg_positive, self.psg_negative


def _rules(mean: str, variance: str, **more: Any) -> Mapping[str, Any]:
    return {"mean_update": mean, "variance_update": variance, **more}


# Of the authors' configurations `opo` and `acemrl`, for all environments.
_SAME_EVERYWHERE: Mapping[str, Any] = {
    "p_desired": 0.5,
    "hidden": (400, 300),
    "actor_learning_rate": 1e-3,
    "critic_learning_rate": 1e-3,
}
# Table 2 of the paper, column by column
TABLE_2: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "one-plus-one": _rules("full-move", "success-rule", **_SAME_EVERYWHERE),
        "rank-based": _rules("oldest", "rank-based", **_SAME_EVERYWHERE),
        "linear-adaptive": _rules("fixed-range-linear", "online-adaptive"),
        "sigmoid-adaptive": _rules("fixed-range-sigmoid", "online-adaptive", psg_negative=1.0),
        "absolute-adaptive": _rules("baseline-absolute", "online-adaptive"),
        "relative-adaptive": _rules("baseline-relative", "online-adaptive"),
        "linear-fixed": _rules("fixed-range-linear", "online-fixed"),
        "sigmoid-fixed": _rules("fixed-range-sigmoid", "online-fixed", psg_negative=1.0),
        "absolute-fixed": _rules("baseline-absolute", "online-fixed"),
        "relative-fixed": _rules("baseline-relative", "online-fixed"),
    }
)
# What the public code does differently, by the rule's name here
_IN_THE_CODE = {"success-rule": "success-rule-frozen", "baseline-absolute": "baseline-absolute-clipped"}


def _as_the_code(rules: Mapping[str, Any]) -> Mapping[str, Any]:
    own = {name: _IN_THE_CODE.get(rules[name], rules[name]) for name in ("mean_update", "variance_update")}
    return {**rules, **own, "tell_in_warmup": True, "always_measure": True}


PRESETS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "paper": {},
        "code": {"tell_in_warmup": True},
        "fixed-ratio": {"critic_ratio": 1.0},
        **TABLE_2,
        **{f"{name}-code": _as_the_code(rules) for name, rules in TABLE_2.items()},
    }
)
