"""How asynchronous a run is: what lies between asking for a task and using its result, and how busy processes are."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from erlbench.algorithms.base import Counters
from erlbench.records.schema import NO_INDIVIDUALS, TaskRow
from erlbench.work.tasks import Result


@dataclass
class Asynchrony:
    """Tasks since the last row of train.csv, and seconds since the run began; plain values, for checkpoints."""

    staleness: list[int] = field(default_factory=list)  # of individuals that played: updates of the distribution
    critic_lag: list[int] = field(default_factory=list)  # critic updates in the same span
    queueing: list[float] = field(
        default_factory=list
    )  # of all that played: seconds from when they could have begun to their begin
    busy: float = 0.0  # seconds of all processes
    without_number: int = 0  # individuals since the last row whose return is NaN

    def took(self, row: TaskRow, result: Result, ready: float) -> None:
        """Add a task of the training, which could have begun at `ready`."""
        self.busy += result.end - result.start
        if not row.timesteps or row.staleness is None or row.critic_lag is None:
            return
        self.queueing.append(result.start - ready)
        if row.kind not in NO_INDIVIDUALS:
            self.without_number += any(map(math.isnan, result.values.get("returns", ())))
            self.staleness.append(row.staleness)
            self.critic_lag.append(row.critic_lag)

    def row(self, counters: Counters, seconds: float) -> dict[str, Any]:
        """The columns of train.csv after `seconds` of training; the next row begins."""
        spread: dict[str, float | None] = {}
        for name, unit, values in (
            ("staleness", "", self.staleness),
            ("critic_lag", "", self.critic_lag),
            ("queueing", "_s", self.queueing),
        ):
            median, most = map(float, np.quantile(values, (0.5, 0.9))) if values else (None, None)
            spread |= {f"{name}_median{unit}": median, f"{name}_90{unit}": most}
            values.clear()
        self.without_number = 0
        steps, elapsed = counters.timesteps or np.nan, seconds or np.nan
        return {
            **spread,
            "critic_per_step": counters.critic_updates / steps,
            "actor_per_step": counters.actor_updates / steps,
            "busy_processes": self.busy / elapsed,
        }
