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
