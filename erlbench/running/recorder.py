"""The CSV files of one run, and what stands in their rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from erlbench.algorithms.base import Counters
from erlbench.errors import CellError
from erlbench.running.asynchrony import Asynchrony
from erlbench.running.clock import Clock
from erlbench.running.csv_file import CsvFile, line
from erlbench.running.results import checksum
from erlbench.work.tasks import Counts, Result, Task, timesteps_of

EVAL_COLUMNS = (
    "evaluation",
    "final",
    "timesteps",
    "fitness_timesteps",
    "evaluation_timesteps",
    "replayed_timesteps",
    "episodes",
    "generation",
    "critic_updates",
    "actor_updates",
    "train_time_s",
    "total_time_s",
    "return_mean",
    "return_std",
    "returns",
    "lengths",
    "paused_s",
    "digest",
    "policy_sha256",
)
EPISODE_COLUMNS = ("r", "l", "t", "kind", "individual", "task", "timesteps")
TASK_COLUMNS = (
    "task",
    "kind",
    "process",
    "individual",
    "start_s",
    "end_s",
    "timesteps",
    "critic_updates",
    "actor_updates",
    "second_core_s",
    "ready_s",
    "staleness",
    "critic_lag",
    "cpu_s",
)
EVENT_COLUMNS = ("time_s", "event", "message")


@dataclass(frozen=True)
class Asked:
    """The moment when a task was asked for, and what the algorithm had counted then."""

    ready: float  # seconds of the pool's clock; later where it had to wait for other tasks
    generation: int
    critic_updates: int


class Recorder:
    """The CSV files of one run. Rows gather in memory until `flush`, `state` or `close`; events do not."""

    def __init__(self, folder: Path, env_id: str) -> None:
        comment = json.dumps({"env_id": env_id, "t_start": datetime.now(UTC).timestamp()})
        self.eval = CsvFile(folder / "eval.csv", EVAL_COLUMNS)
        self.episodes = CsvFile(folder / "episodes.csv", EPISODE_COLUMNS, comment)
        self.tasks = CsvFile(folder / "tasks.csv", TASK_COLUMNS)
        self.train = CsvFile(folder / "train.csv", None)
        self.events = CsvFile(folder / "events.csv", EVENT_COLUMNS)
        self.asynchrony = Asynchrony()

    @property
    def files(self) -> dict[str, CsvFile]:
        """The files that go back to a checkpoint; events.csv only ever grows."""
        return {"eval": self.eval, "episodes": self.episodes, "tasks": self.tasks, "train": self.train}

    def start(self) -> None:
        """Begin all files anew."""
        for file in (*self.files.values(), self.events):
            file.start()

    def state(self) -> dict[str, Any]:
        """Lengths and checksums of all files."""
        return {name: file.state() for name, file in self.files.items()}

    def sums(self) -> dict[str, str]:
        """Checksums by the files' names, as status.json of a finished run holds them."""
        states = {file.path.name: file.state() for file in self.files.values()}
        return {name: checksum(state["length"], state["crc"]) for name, state in states.items()}

    def check(self, state: Mapping[str, Any]) -> None:
        """Raise `CellError` for a file that was edited or truncated since `state`."""
        for name, file in self.files.items():
            if not file.matches(state[name]):
                raise CellError(f"{file.path} was edited or truncated after the checkpoint")

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go back to a state that `check` accepted."""
        for name, file in self.files.items():
            file.restore(state[name])
        self.events.begin()  # it may have been removed

    # -- rows -----------------------------------------------------------------------------------------------------

    def task(
        self,
        result: Result,
        kind: str,
        individual: int,
        clock: Clock,
        asked: Asked | None = None,
        now: Counters | None = None,
    ) -> None:
        """A finished task, to tasks.csv; `asked` and `now`, what has been counted before it is told, of training."""
        values, played, asynchrony = result.values, timesteps_of(result.values), ",,"
        if asked and now:
            staleness = now.generation - asked.generation
            critic_lag = now.critic_updates - asked.critic_updates
            self.asynchrony.worked(result.end - result.start, result.second_core)
            if played:
                self.asynchrony.played(staleness, critic_lag, result.start - asked.ready)
            asynchrony = f"{clock.since_start(asked.ready)},{staleness},{critic_lag}"
        self.tasks.write_line(  # TASK_COLUMNS
            f"{result.task},{_cell(kind)},{result.process},{individual},"
            f"{clock.since_start(result.start)},{clock.since_start(result.end)},"
            f"{played},{values.get('critic_updates', 0)},{values.get('actor_updates', 0)},"
            f"{result.second_core},{asynchrony}{self._cpu(result)}\n"
        )

    def _cpu(self, result: Result) -> str:
        """The last cell of a task's row; a file that an older version began has no such column."""
        return f",{result.cpu}" if self.tasks.columns and self.tasks.columns[-1] == "cpu_s" else ""

    def played(self, task: Task, result: Result, timesteps: int, clock: Clock) -> None:
        """The episodes of a task, to episodes.csv; `timesteps` so far, theirs included."""
        if task.counts == Counts.NOTHING:
            return
        common = f"{clock.train},{_cell(task.kind)},{task.individual},{task.id},{timesteps}\n"
        for episode_return, length in zip(result.values["returns"], result.values["lengths"], strict=True):
            self.episodes.write_line(f"{episode_return},{length},{common}")  # EPISODE_COLUMNS

    def generation(self, counters: Counters, metrics: Mapping[str, float], clock: Clock) -> None:
        """An update of the search distribution, to train.csv."""
        self.train.write(
            {
                "generation": counters.generation,
                "timesteps": counters.timesteps,
                "train_time_s": clock.train,
                "paused_s": clock.paused,
                "critic_updates": counters.critic_updates,
                "actor_updates": counters.actor_updates,
                **metrics,
                **self.asynchrony.row(counters, clock.train),
            }
        )

    def event(self, event: str, message: str, seconds: float) -> None:
        """Something out of the ordinary, to events.csv, at once."""
        self.events.write({"time_s": seconds, "event": event, "message": message})
        self.events.flush()

    # -- when they reach the disk ---------------------------------------------------------------------------------

    def flush(self) -> None:
        """Write all rows to their files."""
        for file in self.files.values():
            file.flush()

    def discard(self) -> None:
        """Forget the rows that are not in their files, which are another driver's now."""
        for file in self.files.values():
            file.discard()

    def check_places(self) -> None:
        """Raise `CellError` when a file was moved or removed meanwhile: its rows would be lost without a word."""
        for file in self.files.values():
            file.check_place()

    def sync(self) -> None:
        """Have all rows that were flushed reach the disk."""
        for file in (*self.files.values(), self.events):
            file.sync()

    def close(self) -> None:
        """Close all files; a full disk, at which the run has failed before, is not told again."""
        for file in (*self.files.values(), self.events):
            with suppress(OSError):
                file.close()


@lru_cache
def _cell(text: str) -> str:
    """A text as it stands in a row; there are few different ones."""
    return line([text]).rstrip("\n")
