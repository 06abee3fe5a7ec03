"""Evaluating the reported policy: when, from which start states, and in which order the rows appear."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np

from erlbench.algorithms.base import Algorithm
from erlbench.experiment.cells import Cell
from erlbench.files import write_durably
from erlbench.policy import serialise_policy
from erlbench.records.run import POLICIES
from erlbench.records.schema import EvaluationRow, Row, make_row
from erlbench.running.folder import RunFolder
from erlbench.running.rows import INFO_VALUES, Clock, task_row
from erlbench.work.rollout import RolloutSettings
from erlbench.work.seeding import Key, Purpose, environment_seed
from erlbench.work.tasks import Counts, Priority, Result, Task

FIRST_ID = 10**12  # ids of evaluations stay clear of the algorithm's, whose random streams are keyed by them
BUCKET = 10_000  # training steps whose evaluations have the same start states
PART = 10  # episodes of one task of the final evaluation
LAST = 5  # evaluations whose policies are kept, the final one among them


@dataclass
class Pending:
    """An evaluation whose row is not yet written: what was counted when its policy was taken.

    The final one is played in parts; `parts` has the values of those that are played, by the numbers of their tasks.
    """

    task: Task  # that plays all episodes
    row: dict[str, Any]
    values: dict[str, Any] | None = None  # of all episodes, in their order
    parts: dict[int, dict[str, Any]] = field(default_factory=dict)

    def tasks(self) -> list[Task]:
        """The tasks that play it, in the order of their episodes."""
        return in_parts(self.task) if self.row["final"] else [self.task]

    def unplayed(self) -> list[Task]:
        """The tasks that have not played."""
        return [] if self.values is not None else [task for task in self.tasks() if task.id not in self.parts]

    def add_result(self, result: Result) -> None:
        """Take in what one of the tasks has played."""
        self.parts[result.task] = dict(result.values)
        played = [self.parts.get(task.id) for task in self.tasks()]
        if None not in played:
            parts = [values for values in played if values]
            self.values = {
                name: [value for values in parts for value in values.get(name, [math.nan] * len(values["returns"]))]
                for name in ("returns", "lengths", *INFO_VALUES)
                if any(name in values for values in parts)
            }
            self.parts = {}


def in_parts(task: Task) -> list[Task]:
    """A task of episodes as tasks of at most `PART` of them, numbered from its number on.

    The final evaluation is always played in parts: it takes the time of one part where there are enough processes. Each
    episode has its seed, so the parts have the returns of the whole.
    """
    seeds = task.settings.seeds
    chunks = [seeds[begin : begin + PART] for begin in range(0, len(seeds), PART)]
    return [
        replace(task, id=task.id + number, settings=replace(task.settings, episodes=len(chunk), seeds=chunk))
        for number, chunk in enumerate(chunks)
    ]


@dataclass
class EvaluationState:
    """What goes into a checkpoint."""

    taken: int = 0  # evaluations whose policies were taken
    last_timesteps: int = -1  # training steps at the last one
    final: bool = False  # whether that was the final one
    shown: list[tuple[int, int, float]] = field(default_factory=list)  # of the last rows: index, steps, seconds
    pending: list[Pending] = field(default_factory=list)  # in order
    last_return: float | None = None  # of the last row


def evaluation_seeds(seed: int, timesteps: int | None, episodes: int) -> tuple[int, ...]:
    """The seeds with which the episodes of an evaluation begin; `timesteps` None: the final evaluation.

    They belong to the run's seed and, on the way, to the `BUCKET` of training steps in which the policy was taken. They
    are thus common to all algorithms and frequencies of evaluation; the final evaluation's also to all budgets.
    """
    key: Key = (seed, int(Purpose.FINAL_EVALUATION))
    if timesteps is not None:
        key = (seed, int(Purpose.EVALUATION), timesteps // BUCKET)
    return tuple(environment_seed(*key, episode) for episode in range(episodes))


@dataclass(eq=False)
class Evaluations:
    """Takes the reported policy every `eval_freq` training steps and plays `eval_episodes` deterministic episodes.

    The final evaluation, of the policy that is saved, plays `final_episodes`. The cell has these numbers. A stochastic
    policy acts by its mode, and no action has noise. The last policies on the way are kept in `directory`.
    """

    algorithm: Algorithm[Any, Any]
    cell: Cell
    directory: RunFolder

    def __post_init__(self) -> None:
        self.state = EvaluationState()
        self._begun: set[int] = set()  # tasks that the pool has had

    def due(self) -> bool:
        """Whether a multiple of `eval_freq` has been passed since the last evaluation; the final one is not asked."""
        now, last, every = self.algorithm.counters.timesteps, self.state.last_timesteps, self.cell.eval_freq
        return not self.algorithm.exhausted and now // every > last // every

    def progress(self) -> tuple[int, int]:
        """After the training: how many evaluations were played, and how many the run has, with the final one."""
        left = sum(pending.values is None for pending in self.state.pending)
        return self.state.taken - left, self.state.taken + (not self.state.final)

    def begin_unplayed(self) -> list[Task]:
        """The tasks of the evaluations that are left, but for those that this gave before."""
        unplayed = [task for pending in self.state.pending for task in pending.unplayed()]
        tasks = [task for task in unplayed if task.id not in self._begun]
        self._begun.update(task.id for task in tasks)
        return tasks

    def take_policy(self, clock: Clock, digest: str, final: bool = False) -> None:
        """Take the policy as it is now, to be played by `Pending.tasks`; `digest` is the digest of the run's state."""
        counters, index = self.algorithm.counters, self.state.taken
        seed = self.algorithm.context.seed
        episodes = self.cell.final_episodes if final else self.cell.eval_episodes
        seeds = evaluation_seeds(seed, None if final else counters.timesteps, episodes)
        task = Task(
            FIRST_ID + index,
            "evaluation",
            "erlbench.work.rollout:rollout",
            (seed, int(Purpose.EVALUATION), index),
            RolloutSettings(
                self.algorithm.context.problem.env, self.algorithm.policy_spec, episodes, seeds=seeds, mode=True
            ),
            {"parameters": self.algorithm.policy()},
            Priority.EVALUATION,
            Counts.EVALUATION,
        )
        row = {
            "evaluation": index,
            "final": int(final),
            **vars(counters),
            "train_time_s": clock.train,
            "total_time_s": clock.train if final else clock.total,  # evaluations may have run since the training's end
            "paused_s": clock.paused,
            "digest": digest,
        }
        self.state.pending.append(Pending(task, row))
        self.state.taken += 1
        self.state.last_timesteps = counters.timesteps
        self.state.final = final

    def finish(self, result: Result, clock: Clock) -> Iterator[Row]:
        """The rows of an evaluation, or of a part of one, that has been played, in the order of their policies."""
        tasks = ((pending, task) for pending in self.state.pending for task in pending.tasks())
        pending, task = next((pending, task) for pending, task in tasks if task.id == result.task)
        yield task_row(task, result, clock)
        pending.add_result(result)
        while self.state.pending and (values := self.state.pending[0].values) is not None:
            row = self._row(self.state.pending[0], values)
            del self.state.pending[0]
            self.state.last_return = row.return_mean
            yield row

    def _row(self, pending: Pending, values: dict[str, Any]) -> EvaluationRow:
        returns, lengths = values["returns"], values["lengths"]
        self.algorithm.counters.evaluation_timesteps += sum(lengths)
        columns = {
            **pending.row,
            "evaluation_timesteps": self.algorithm.counters.evaluation_timesteps,
            "return_mean": fmean(returns),
            "return_std": stdev(returns) if len(returns) > 1 else 0.0,
            "returns": returns,
            "lengths": lengths,
            "policy_sha256": self._keep(pending),
            "success": values.get("success", ()),
            "success_ever": values.get("success_ever", ()),
            "info": [number for numbers in values.get("info", ()) for number in numbers],
        }
        return make_row(EvaluationRow, columns)

    def _keep(self, pending: Pending) -> str:
        """Keep the policy of an evaluation whose row comes next, and remove older ones; the SHA-256 of its file.

        The final policy has a separate file.
        """
        self.directory.check()
        row, shown = pending.row, self.state.shown
        parameters = self.algorithm.context.store.load(pending.task.inputs["parameters"])
        data = serialise_policy(np.asarray(parameters), self.algorithm.policy_spec)
        if not row["final"]:
            path = policy_file(self.directory.path, row["evaluation"])
            path.parent.mkdir(exist_ok=True)
            write_durably(path, data)
        shown.append((row["evaluation"], row["timesteps"], row["train_time_s"]))
        for index, *_ in shown[:-LAST]:
            policy_file(self.directory.path, index).unlink(missing_ok=True)
        del shown[:-LAST]
        return hashlib.sha256(data).hexdigest()


def policy_file(run: Path, evaluation: int) -> Path:
    """Where the policy of an evaluation is, if it is kept."""
    return run / POLICIES / f"{evaluation:06d}.safetensors"
