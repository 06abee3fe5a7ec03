"""The run directory: its lock, its configuration, its status, and its append-only CSV files."""

from __future__ import annotations

import csv
import fcntl
import json
import os
import shutil
import tomllib
import zlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import tomli_w

from erlbench.errors import CellError, UsageError

EVAL_COLUMNS = (
    "evaluation",
    "timesteps",
    "fitness_timesteps",
    "evaluation_timesteps",
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
)
EPISODE_COLUMNS = ("r", "l", "t", "kind", "worker", "task", "timesteps")
TASK_COLUMNS = ("task", "kind", "process", "worker", "start_s", "end_s", "timesteps", "critic_updates", "actor_updates")
EVENT_COLUMNS = ("time_s", "event", "message")


class CsvFile:
    """An append-only CSV file that can go back to a saved length.

    `state()` is the length in bytes and the CRC of those bytes, so that an edited or truncated file is noticed.
    """

    def __init__(self, path: Path, columns: Sequence[str] | None, comment: str = "") -> None:
        """`columns` None: they are taken from the first row written."""
        self.path = path
        self.columns = list(columns) if columns else None
        self._comment = comment
        self._file = open(path, "ab")
        self._length = 0
        self._crc = 0

    def start(self) -> None:
        """Begin anew with nothing but the header."""
        self._file.truncate(0)
        self._length = self._crc = 0
        if self._comment:
            self._append(f"#{self._comment}\n".encode())
        if self.columns:
            self._append(_line(self.columns))

    def write(self, row: Mapping[str, Any]) -> None:
        """Append one row; keys beyond the columns are an error, missing ones are left empty."""
        if self.columns is None:
            self.columns = list(row)
            self._append(_line(self.columns))
        self._append(_line([_text(row.get(column)) for column in self.columns]))

    def state(self) -> dict[str, Any]:
        """What `restore` needs."""
        return {"length": self._length, "crc": self._crc, "columns": self.columns}

    def matches(self, state: Mapping[str, Any]) -> bool:
        """Whether the file still begins with the bytes that `state` describes."""
        data = self.path.read_bytes()[: state["length"]]
        return len(data) == state["length"] and zlib.crc32(data) == state["crc"]

    def restore(self, state: Mapping[str, Any]) -> None:
        """Cut the file back to a state that it matches."""
        self._file.truncate(state["length"])
        self._length, self._crc, self.columns = state["length"], state["crc"], state["columns"]

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _append(self, data: bytes) -> None:
        self._file.write(data)
        self._file.flush()
        self._length += len(data)
        self._crc = zlib.crc32(data, self._crc)


class RunDirectory:
    """`results/<env>/<name>/seed-NNN`, held by at most one driver."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: int | None = None

    def hold(self) -> None:
        """Make the directory and take its lock; raises `UsageError` when another run holds it."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = os.open(self.path / "lock", os.O_CREAT | os.O_RDWR, 0o644)
        except OSError as error:
            raise UsageError(
                f"{self.path} cannot be written: {error.strerror}; choose another folder by --out"
            ) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(lock)
            raise UsageError(f"{self.path} is held by another run; wait for it or choose another --out") from error
        self._lock = lock

    def check_parent(self) -> None:
        """Raise `UsageError` when the directory cannot be made; makes nothing."""
        parent = next(path for path in self.path.absolute().parents if path.exists())
        if not parent.is_dir():
            raise UsageError(f"{self.path} cannot be made: {parent} is not a folder; choose another one by --out")
        if not os.access(parent, os.W_OK | os.X_OK):
            raise UsageError(f"{self.path} cannot be made: {parent} is not writable; choose another folder by --out")

    def release(self) -> None:
        """Give the lock back."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def move_aside(self) -> Path | None:
        """Rename the directory to the first free `<name>.old-N`; None when there is nothing to move."""
        if not self.path.exists():
            return None
        number = 1
        while (target := self.path.with_name(f"{self.path.name}.old-{number}")).exists():
            number += 1
        self.path.rename(target)
        return target

    def config(self) -> dict[str, Any] | None:
        """The configuration that the directory was written with, or None for a new one."""
        try:
            return tomllib.loads((self.path / "config.toml").read_text())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise UsageError(f"{self.path / 'config.toml'} cannot be read: {error}; --force starts anew") from error

    def write_config(self, config: Mapping[str, Any]) -> None:
        """Write config.toml."""
        write_atomically(self.path / "config.toml", tomli_w.dumps(dict(config)))

    def status(self) -> dict[str, Any]:
        """status.json, or an empty dict."""
        return _read_json(self.path / "status.json")

    def write_status(self, **values: Any) -> None:
        """Write status.json."""
        values["updated"] = datetime.now(UTC).isoformat(timespec="seconds")
        write_atomically(self.path / "status.json", json.dumps(values, indent=2) + "\n")

    def add_start(self, machine: Mapping[str, Any], start: Mapping[str, Any]) -> None:
        """Write meta.json: the machine of the last start, and one entry per start."""
        starts = _read_json(self.path / "meta.json").get("starts", [])
        text = json.dumps({**machine, **start, "starts": [*starts, dict(start)]}, indent=2)
        write_atomically(self.path / "meta.json", text + "\n")

    def clear(self) -> None:
        """Remove what an earlier start left that has no usable checkpoint."""
        for name in ("checkpoint", "replay"):
            shutil.rmtree(self.path / name, ignore_errors=True)


class Recorder:
    """The CSV files of one run."""

    def __init__(self, folder: Path, env_id: str) -> None:
        comment = json.dumps({"env_id": env_id, "t_start": datetime.now(UTC).timestamp()})
        self.eval = CsvFile(folder / "eval.csv", EVAL_COLUMNS)
        self.episodes = CsvFile(folder / "episodes.csv", EPISODE_COLUMNS, comment)
        self.tasks = CsvFile(folder / "tasks.csv", TASK_COLUMNS)
        self.train = CsvFile(folder / "train.csv", None)
        self.events = CsvFile(folder / "events.csv", EVENT_COLUMNS)

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

    def check(self, state: Mapping[str, Any]) -> None:
        """Raise `CellError` for a file that was edited or truncated since `state`."""
        for name, file in self.files.items():
            if not file.matches(state[name]):
                raise CellError(f"{file.path} was edited or truncated after the checkpoint")

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go back to a state that `check` accepted."""
        for name, file in self.files.items():
            file.restore(state[name])

    def close(self) -> None:
        """Close all files."""
        for file in (*self.files.values(), self.events):
            file.close()


def write_atomically(path: Path, text: str) -> None:
    """Write a small file so that a reader sees the old or the new text, never a part."""
    part = path.with_name(path.name + ".part")
    part.write_text(text)
    part.rename(path)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return repr(float(value))  # the shortest text that gives the same number back
    if isinstance(value, list | tuple):
        return " ".join(_text(item) for item in value)
    return str(value)


def _line(cells: Sequence[str]) -> bytes:
    buffer = StringIO()
    csv.writer(buffer, lineterminator="\n").writerow(cells)
    return buffer.getvalue().encode()
