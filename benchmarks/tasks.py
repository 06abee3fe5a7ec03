"""A task function of the benchmarks that does next to nothing."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from erlbench.work.rollout import RolloutSettings
from erlbench.work.seeding import Key
from erlbench.work.tasks import Outcome
from erlbench.work.workspace import Workspace


def nothing(settings: RolloutSettings, inputs: Mapping[str, np.ndarray], key: Key, workspace: Workspace) -> Outcome:
    """As many episodes of one step as asked for, without an environment; the returns differ."""
    return Outcome({"returns": [float(hash(key) % 1000)] * settings.episodes, "lengths": [1] * settings.episodes})
