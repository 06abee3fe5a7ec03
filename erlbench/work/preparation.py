"""What a worker does before the clock starts, so that no training pays for it: the task function `prepare`."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from erlbench.work.seeding import Key
from erlbench.work.tasks import Outcome
from erlbench.work.workspace import Workspace


def prepare(settings: Mapping[str, Any], inputs: Mapping[str, np.ndarray], key: Key, workspace: Workspace) -> Outcome:
    """Task function: make the environment `settings["env"]` and import `settings["modules"]`."""
    workspace.environment(settings["env"])
    for name in settings["modules"]:
        importlib.import_module(name)
    return Outcome({})


def nothing(settings: Mapping[str, Any], inputs: Mapping[str, np.ndarray], key: Key, workspace: Workspace) -> Outcome:
    """Task function that does nothing, for measuring a task's way to a process and back."""
    return Outcome({})
