"""The folder of a run while a driver holds it: lease, configuration, status, and the CSV files that grow."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import tomli_w

from erlbench import files
from erlbench.errors import CellError, UsageError, explain
from erlbench.records.run import (
    ASIDE,
    CHECKPOINTS,
    CONFIG,
    EVENTS,
    META,
    REPLAY,
    STATUS,
    RunFiles,
    checksum,
    file_checksum,
    repeats_of,
    starts,
)
from erlbench.records.schema import COUNTED, EpisodeRow, EvaluationRow, EventRow, GenerationRow, Row, TaskRow
from erlbench.records.write import RowFile
from erlbench.running import lease
from erlbench.running.lease import Lease

DONE, FAILED, INTERRUPTED = "done", "failed", "interrupted"  # the status of a run that has ended


class RunFolder(RunFiles):
    """`results/<env>/<name>/seed-NNN`, held by at most one driver."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._lease: Lease | None = None

    # -- whose it is ----------------------------------------------------------------------------------------------

    def hold(self) -> None:
        """Make the directory and take its lease; raises `UsageError` when another run holds it."""
        try:
            files.make_folder(self.path)
            files.refuse_links(self.path)
            self._lease = Lease(self.path)
        except (OSError, files.Unusable) as error:
            why = explain(error, self.path) if isinstance(error, OSError) else error
            raise UsageError(f"{self.path} cannot be written: {why}") from error

    def is_held(self) -> bool:
        """Whether a driver runs the cell now, on any machine; takes no lease, so that it hinders no start."""
        return bool(lease.holder(self.path))

    def check(self) -> None:
        """Raise `CellError` when this driver no longer holds the directory at its path, so that nothing may be written.

        Another machine's driver has taken it, or somebody has moved, removed or replaced it.
        """
        if self._lease is not None:
            self._lease.check()

    def release(self) -> None:
        """Give the directory back."""
        if self._lease is not None:
            self._lease.release()
        self._lease = None

    def check_parent(self) -> None:
        """Raise `UsageError` when the directory cannot be made; makes nothing."""
        parent = next(path for path in self.path.absolute().parents if path.exists())
        if not parent.is_dir():
            raise UsageError(f"{self.path} cannot be made: {parent} is not a folder; choose another one by --out")
        if not os.access(parent, os.W_OK | os.X_OK):
            raise UsageError(f"{self.path} cannot be made: {parent} is not writable; choose another folder by --out")

    def move_aside(self) -> Path | None:
        """Rename the directory to the first `<name>.old-N` that no run has had; None when there is nothing to move."""
        if not self.path.exists():
            return None
        number, taken = 1, {entry.get("folder") for entry in repeats_of(self.path)}
        while (target := self.path.with_name(f"{self.path.name}{ASIDE}{number}")).exists() or target.name in taken:
            number += 1
        self.path.rename(target)
        return target

    # -- what is in it --------------------------------------------------------------------------------------------

    def saved_config(self) -> dict[str, Any] | None:
        """The configuration that the directory was written with, or None for a new one.

        Raises `UsageError` when it cannot be read, and when it is gone while there are rows: without it nobody knows
        to which settings they belong.
        """
        path, config = self.path / CONFIG, {}
        with files.readable(path, advice="; --force starts anew"), suppress(FileNotFoundError):
            config = self.config()
        if config:
            return config
        if self.has_rows() or self.has_checkpoint():
            state = "empty" if path.exists() else "missing"
            raise UsageError(
                f"{path} is {state}, so nobody knows the settings of the run in this folder; put it back, or start "
                "anew by --force (the old run is moved aside)"
            )
        return None

    def write_config(self, config: Mapping[str, Any]) -> None:
        """Write config.toml."""
        self.write(CONFIG, tomli_w.dumps(dict(config)).encode())

    def sums(self) -> dict[str, str]:
        """Checksums of events.csv, config.toml and meta.json, for status.json of a finished run."""
        return {name: file_checksum(self.path / name) for name in (EVENTS, CONFIG, META) if (self.path / name).exists()}

    def write_status(self, **values: Any) -> None:
        """Write status.json."""
        values["updated"] = datetime.now(UTC).isoformat(timespec="seconds")
        self._write_json(STATUS, values)

    def read_changed_files(self) -> dict[str, bytes]:
        """The files that a start changes before it has begun, as they are, for `restore_files`."""
        names = (name for name in (CONFIG, STATUS, META, EVENTS) if (self.path / name).exists())
        return {name: files.read_bytes(self.path / name, inside=1) for name in names}

    def restore_files(self, contents: Mapping[str, bytes]) -> None:
        """Write the files as `read_changed_files` found them."""
        for name, data in contents.items():
            self.write(name, data)

    def add_start(self, machine: Mapping[str, Any], start: Mapping[str, Any]) -> None:
        """Write meta.json: the machine of the last start, one entry per start, and the runs that were moved aside."""
        earlier = {"repeats": repeats} if (repeats := repeats_of(self.path)) else {}
        self._write_json(META, {**machine, **start, **earlier, "starts": [*starts(self.meta()), dict(start)]})

    def amend_meta(self, **values: Any) -> None:
        """Write what was found out after the last start."""
        meta = {**self.meta(), **values}
        if earlier := starts(meta):
            meta["starts"] = [*earlier[:-1], {**earlier[-1], **values}]
        self._write_json(META, meta)

    def write(self, name: str, data: bytes) -> None:
        """Replace a file as a whole, unless the directory is no longer this driver's."""
        self.check()
        files.write_durably(self.path / name, data)

    def discard_checkpoints(self) -> None:
        """Remove what only an unfinished run needs: checkpoints, and the replay unless an extension needs it."""
        shutil.rmtree(self.path / CHECKPOINTS, ignore_errors=True)
        if not (self.has_training_end() and any(path.stat().st_size for path in (self.path / REPLAY).glob("*"))):
            shutil.rmtree(self.path / REPLAY, ignore_errors=True)

    def _write_json(self, name: str, values: Mapping[str, Any]) -> None:
        self.write(name, f"{json.dumps(values, indent=2)}\n".encode())


# -- rows: they gather in memory and reach their files once a second ---------------------------------------------------


FLUSH_EVERY = 1.0  # seconds between two writes of the rows
# The names of the files in checkpoints.
NAMES: Mapping[type[Row], str] = {
    EvaluationRow: "eval",
    EpisodeRow: "episodes",
    TaskRow: "tasks",
    GenerationRow: "train",
}


class RowFiles:
    """Writes each row to its file: an event at once, all others when they are flushed.

    They are flushed once a second, with each evaluation and checkpoint, and when the run ends, however that is.
    `check` raises where nothing may be written any more.
    """

    def __init__(self, folder: Path, env_id: str, check: Callable[[], None] = lambda: None) -> None:
        comment = json.dumps({"env_id": env_id, "t_start": datetime.now(UTC).timestamp()})
        self.counted: dict[type[Row], RowFile] = {
            row: RowFile(folder, row, comment if row is EpisodeRow else "") for row in COUNTED
        }
        self.events = RowFile(folder, EventRow)
        self._all: dict[type[Row], RowFile] = {**self.counted, EventRow: self.events}
        self._check = check
        self._flushed = time.monotonic()

    def write(self, row: Row) -> None:
        """Take a row."""
        self._all[type(row)].write(row)
        if isinstance(row, EventRow):
            self.events.flush()
        elif isinstance(row, EvaluationRow):
            self.flush()

    def flush_in_time(self) -> None:
        """Flush when the last time was a second ago."""
        if time.monotonic() - self._flushed >= FLUSH_EVERY:
            self.flush()

    def start(self) -> None:
        """Begin all files anew."""
        for file in self._all.values():
            file.start()

    def flush(self) -> None:
        """Write all rows to their files, if these are still those of this run."""
        self._check()
        for file in self.counted.values():
            file.check_place()
        self.write_waiting()
        self._flushed = time.monotonic()

    def write_waiting(self) -> None:
        """Write all rows to the files that are open."""
        for file in self.counted.values():
            file.flush()

    def discard(self) -> None:
        """Forget the rows that are not in their files, which are another driver's now."""
        for file in self.counted.values():
            file.discard()

    def sync(self) -> None:
        """Have all rows that were flushed reach the disk."""
        for file in self._all.values():
            file.sync()

    def close(self) -> None:
        """Close all files; a full disk, at which the run has failed before, is not reported again."""
        for file in self._all.values():
            with suppress(OSError):
                file.close()

    # -- checkpoints: events.csv only ever grows -----------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Lengths and checksums of the files that a checkpoint cuts back: all but events.csv."""
        return {NAMES[row]: file.state() for row, file in self.counted.items()}

    def sums(self) -> dict[str, str]:
        """Checksums by the files' names, as status.json of a finished run holds them."""
        states = {file.path.name: file.state() for file in self.counted.values()}
        return {name: checksum(state["length"], state["crc"]) for name, state in states.items()}

    def check(self, state: Mapping[str, Any]) -> None:
        """Raise `CellError` for a file that was edited or truncated since `state`."""
        for row, file in self.counted.items():
            if not file.matches(state[NAMES[row]]):
                raise CellError(f"{file.path} was edited or truncated after the checkpoint")

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go back to a state that `check` accepted."""
        for row, file in self.counted.items():
            file.restore(state[NAMES[row]])
        self.events.begin()  # it may have been removed
