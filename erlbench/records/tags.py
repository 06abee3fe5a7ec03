"""The names under which TensorBoard draws a run's columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from erlbench.records.schema import EvaluationRow, GenerationRow, columns_of

TRAINING = "rollout/ep_rew_mean"  # Stable-Baselines3's name of the running mean of training returns
SEARCH = "search/"  # before the columns of train.csv
EVALUATION: Mapping[str, str] = MappingProxyType(
    {
        "eval/mean_reward": "return_mean",
        "eval/std_reward": "return_std",
        "time/train_time_s": "train_time_s",
        "train/critic_updates": "critic_updates",
        "train/actor_updates": "actor_updates",
        "train/episodes": "episodes",
    }
)
KEYS = frozenset({"env", "name", "seed", "generation", "timesteps", "train_time_s", "critic_updates", "actor_updates"})


def tagged(row: EvaluationRow | GenerationRow) -> dict[str, float]:
    """The numbers of a row by their names; those that are empty or NaN are left out."""
    if isinstance(row, EvaluationRow):
        found = {tag: getattr(row, column) for tag, column in EVALUATION.items()}
    else:
        values = {one.name: getattr(row, one.name) for one in columns_of(GenerationRow) if not one.own} | {**row.own}
        found = {f"{SEARCH}{name}": value for name, value in values.items() if name not in KEYS}
    return {tag: float(value) for tag, value in found.items() if value is not None and not math.isnan(value)}
