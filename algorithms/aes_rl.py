"""AES-RL: an asynchronous evolution strategy some of whose individuals are trained by TD3's gradients.

Lee, Lee, Shin, Kweon, "An Efficient Asynchronous Method for Integrating Evolutionary and Gradient-based Policy
Search", NeurIPS 2020, with details of its public code (github.com/KyunghyunLee/aes-rl). It is the search
`search/aes.py`, the coupling `half` (`coupling/half.py`), the schedule `steady-state`
(`schedule/steady_state.py`), and the losses of `gradients/learners/td3.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from erlbench.algorithms.coupling.half import ShareSettings
from erlbench.algorithms.hybrid import SCHEDULES, Hybrid, HybridSettings
from erlbench.algorithms.individuals import START_STATES
from erlbench.algorithms.policy_settings import OURS
from erlbench.algorithms.schedule.steady_state import SteadyStateSettings
from erlbench.algorithms.search.aes import CODE, AESSearchSettings
from erlbench.algorithms.search.search import SEARCHES
from erlbench.settings import at_least_one, at_least_zero, setting


@dataclass(frozen=True, kw_only=True)
class AESRLSettings(AESSearchSettings, SteadyStateSettings, ShareSettings, HybridSettings):
    """Hyper-parameters of AES-RL."""

    search: str = setting("aes", f"what samples: {', '.join(SEARCHES)}, or MODULE:CLASS", OURS)
    schedule: str = setting("steady-state", "in which order: see docs/hybrids.md", OURS, choices=tuple(SCHEDULES))
    start_states: str = setting(
        "fresh",
        "start states of episodes: fresh, the same for an individual and its mean (generation), or fixed for the run",
        OURS,
        choices=START_STATES,
    )
    hidden: tuple[int, ...] = at_least_one(
        (400, 300), "widths of the hidden layers of actor and critics", CODE, by_env={"Humanoid": (256, 256)}
    )
    actor_learning_rate: float = at_least_zero(1e-3, "Adam's step size for actors", CODE, by_env={"Humanoid": 3e-4})
    critic_learning_rate: float = at_least_zero(
        1e-3, "Adam's step size for the critics", CODE, by_env={"Humanoid": 3e-4}
    )
    batch_size: int = at_least_one(256, "transitions per gradient step", CODE)
    replay_size: int = at_least_one(200_000, "latest transitions to learn from", CODE)


class AESRL(Hybrid[AESRLSettings]):
    """AES-RL: asynchronous evolution strategy with TD3-trained individuals."""

    settings_type: ClassVar[type] = AESRLSettings
    default_workers: ClassVar[int | None] = 5
    simulated_steps: ClassVar[float] = 6.0  # an episode of each individual, and five of the mean


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
        "sigmoid-adaptive": _rules("fixed-range-sigmoid", "online-adaptive", p_negative=1.0),
        "absolute-adaptive": _rules("baseline-absolute", "online-adaptive"),
        "relative-adaptive": _rules("baseline-relative", "online-adaptive"),
        "linear-fixed": _rules("fixed-range-linear", "online-fixed"),
        "sigmoid-fixed": _rules("fixed-range-sigmoid", "online-fixed", p_negative=1.0),
        "absolute-fixed": _rules("baseline-absolute", "online-fixed"),
        "relative-fixed": _rules("baseline-relative", "online-fixed"),
    }
)
# What the public code does differently, by the rule's name here
_IN_THE_CODE = {"success-rule": "success-rule-frozen", "baseline-absolute": "baseline-absolute-clipped"}


def _as_the_code(rules: Mapping[str, Any]) -> Mapping[str, Any]:
    changed = {name: _IN_THE_CODE.get(rules[name], rules[name]) for name in ("mean_update", "variance_update")}
    return {**rules, **changed, "tell_in_warmup": True, "always_measure": True}


PRESETS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "code": {"tell_in_warmup": True},
        "fixed-ratio": {"critic_updates_per_step": 1.0},
        **TABLE_2,
        **{f"{name}-code": _as_the_code(rules) for name, rules in TABLE_2.items()},
    }
)
