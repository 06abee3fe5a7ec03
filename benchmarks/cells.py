"""Cells that the benchmarks train in a folder of their own, with files of rows and without evaluations on the way."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, TypeVar

from erlbench.algorithms.base import Algorithm, Context
from erlbench.envs.registry import problem
from erlbench.experiment.cells import Cell, RunOptions
from erlbench.pool import local_pool
from erlbench.records.schema import GenerationRow, Row
from erlbench.records.write import RowFiles
from erlbench.running.folder import RunFolder
from erlbench.running.loop import Run
from erlbench.work.replay import Replay

ENVIRONMENT = "HalfCheetah-v5"
A = TypeVar("A", bound=Algorithm[Any, Any])


def train(
    algo: str, make: Callable[[Any, Context], A], settings: Any, processes: int, steps: int, workers: int
) -> tuple[A, list[GenerationRow]]:
    """A new algorithm like `algo` on HalfCheetah-v5, trained in a fresh pool without checkpoints, and its rows."""
    task, rows = problem(ENVIRONMENT), []

    def keep(row: Row) -> None:
        if isinstance(row, GenerationRow):
            rows.append(row)

    with local_pool(processes) as pool, tempfile.TemporaryDirectory() as name, ExitStack() as ends:
        folder = Path(name)
        sizes = task.observation_size, task.action_size
        replay = ends.enter_context(closing(Replay(folder / "replay", *sizes, pool.store)))
        context = Context(problem=task, seed=0, total_timesteps=steps, workers=workers, store=pool.store, replay=replay)
        cell = Cell(
            algo=algo, preset="", name=algo, env=ENVIRONMENT, seed=0, total_timesteps=steps, workers=workers,
            settings=settings, out=folder, eval_freq=10**9, eval_episodes=1, final_episodes=1,
        )  # fmt: skip
        options = RunOptions(processes, checkpoint_every=1e9)
        directory = RunFolder(folder)
        directory.hold()
        ends.callback(directory.release)
        files = ends.enter_context(closing(RowFiles(folder, ENVIRONMENT, directory.check)))
        algorithm = make(settings, context)
        Run(cell, options, algorithm, pool, directory, files, threading.Event(), listeners=(keep,)).run()
    return algorithm, rows
