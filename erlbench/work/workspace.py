"""What a process keeps between tasks: the store, its environments, its maps of the replay, its device."""

from __future__ import annotations

import importlib
import json
import time
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from erlbench.envs.registry import EnvSpec, build
from erlbench.errors import TaskError
from erlbench.work.replay import ROWS, ReplayReader
from erlbench.work.seeding import Key
from erlbench.work.store import Store
from erlbench.work.tasks import Outcome, ReplayView, Result, Task

if TYPE_CHECKING:
    from erlbench.envs.wrappers import Env


class Workspace:
    """Runs tasks in this process. Everything it keeps is a cache: no result depends on it."""

    def __init__(
        self, store: Store, process: int = 0, device: str = "cpu", cpu: Callable[[], float] = time.process_time
    ) -> None:
        self.store = store
        self.process = process
        self.device = device  # of gradient tasks: cpu, cuda, cuda:1, ...
        self._cpu = cpu  # seconds of processor time so far, of this process, or of this thread alone
        self.scratch: dict[Any, Any] = {}  # for task functions: preallocated buffers by their key
        self._environments: dict[str, Env] = {}
        self._replay: tuple[tuple[int, int], ReplayReader] | None = None  # the one that was last read, by its inode
        # Such a value becomes infinite in float32, and an error that names task and step follows.
        warnings.filterwarnings("ignore", "overflow encountered in cast", RuntimeWarning, r"erlbench\.")

    def environment(self, spec: EnvSpec) -> Env:
        """The environment of `spec`, made once."""
        name = json.dumps(vars(spec), sort_keys=True, default=dict)
        if name not in self._environments:
            self._environments[name] = build(spec)
        return self._environments[name]

    def replay(self, view: ReplayView) -> ReplayReader:
        """The reader of `view`, mapped again when the replay has grown past the map."""
        folder = self.store.replay_folder(view.replay)
        status = (folder / ROWS).stat()
        inode = (status.st_dev, status.st_ino)  # a path may come back with other content; a mapped inode does not
        if self._replay is None or self._replay[0] != inode or self._replay[1].stop < view.stop:
            self._replay = inode, ReplayReader(view, folder)
        return self._replay[1]

    def run(self, task: Task) -> Result:
        """Run one task whose inputs all exist; what the function raises goes to the caller."""
        start, cpu = time.monotonic(), self._cpu()
        inputs = {name: self.store.load(value) for name, value in task.inputs.items()}
        outcome = task_function(task.function)(task.settings, inputs, task.key, self)
        if not isinstance(outcome, Outcome):
            raise TaskError(f"{task.function} returned a {type(outcome).__name__}, not an Outcome")
        arrays = {name: self.store.put(f"{task.id}.{name}", array) for name, array in outcome.arrays.items()}
        cpu = self._cpu() - cpu
        return Result(task.id, outcome.values, arrays, start, time.monotonic(), self.process, cpu)

    def close(self) -> None:
        """Close the environments, drop the maps and buffers, and end what task functions have started."""
        for env in self._environments.values():
            env.close()
        self._environments.clear()
        self._replay = None
        for kept in self.scratch.values():
            if hasattr(kept, "close"):
                kept.close()
        self.scratch.clear()


def task_function(name: str) -> Callable[..., Outcome]:
    """The function that `module:name` names."""
    module, _, function = name.partition(":")
    function_object: Callable[..., Outcome] = getattr(importlib.import_module(module), function)
    return function_object


def prepare(settings: Mapping[str, Any], inputs: Mapping[str, np.ndarray], key: Key, workspace: Workspace) -> Outcome:
    """Task function: make the environment `env` and import the `modules`."""
    workspace.environment(settings["env"])
    for name in settings["modules"]:
        importlib.import_module(name)
    return Outcome({})
