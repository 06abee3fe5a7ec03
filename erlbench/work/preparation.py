"""What a worker does before the clock starts, so that no training pays for it: the task function `prepare`."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from erlbench.envs.registry import EnvSpec
from erlbench.work.seeding import Key
from erlbench.work.tasks import Outcome
from erlbench.work.workspace import Workspace


@dataclass(frozen=True)
class Preparation:
    """Settings of the task function `prepare`."""

    env: EnvSpec
    modules: tuple[str, ...] = ()  # to import


def prepare(settings: Preparation, inputs: Mapping[str, np.ndarray], key: Key, workspace: Workspace) -> Outcome:
    """Task function: make the environment and import the modules."""
    workspace.environment(settings.env)
    for name in settings.modules:
        importlib.import_module(name)
    return Outcome({})


def nothing(settings: None, inputs: Mapping[str, np.ndarray], key: Key, workspace: Workspace) -> Outcome:
    """Task function that does nothing, for measuring a task's way to a process and back."""
    return Outcome({})
