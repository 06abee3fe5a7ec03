"""Task functions of the benchmarks: they do next to nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from erlbench.work.rollout import RolloutSettings, rollout
from erlbench.work.seeding import Key
from erlbench.work.tasks import Outcome
from erlbench.work.workspace import Workspace

CRITIC, ACTOR = 20e-3, 10.5e-3  # seconds of an update asleep: 1 to 0.53, as in the package's costs


def nothing(
    settings: RolloutSettings | None, inputs: Mapping[str, np.ndarray], key: Key, workspace: Workspace
) -> Outcome:
    """As many episodes of one step as asked for, without an environment; the returns differ."""
    episodes = settings.episodes if settings else 1
    return Outcome({"returns": [float(hash(key) % 1000)] * episodes, "lengths": [1] * episodes})


def sleep(settings: Mapping[str, Any], inputs: Mapping[str, np.ndarray], key: Key, workspace: Workspace) -> Outcome:
    """Sleep for `seconds`, as an episode that takes no processor would."""
    time.sleep(settings["seconds"])
    return Outcome({})


def resident(settings: RolloutSettings, inputs: Mapping[str, np.ndarray], key: Key, workspace: Workspace) -> Outcome:
    """Play a rollout; then the resident memory of this process in MiB."""
    rollout(settings, inputs, key, workspace)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return Outcome({"mib": pages * os.sysconf("SC_PAGE_SIZE") / 2**20})


def update_critic(settings: Any, inputs: Mapping[str, np.ndarray], key: Key, workspace: Workspace) -> Outcome:
    """A critic's updates, asleep. Whoever imports this module late, sleeps late: it imports little."""
    time.sleep(CRITIC * settings.updates)
    return Outcome({"critic_updates": settings.updates, "critic_loss": 0.0}, {"critic": inputs["critic"]})


def train_actor(settings: Any, inputs: Mapping[str, np.ndarray], key: Key, workspace: Workspace) -> Outcome:
    """An actor's updates, asleep."""
    time.sleep(ACTOR * settings.updates)
    return Outcome({"actor_updates": settings.updates}, {"parameters": inputs["parameters"]})
