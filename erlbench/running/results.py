"""The run directory: its lease, its configuration and its status."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import tomli_w

from erlbench import files
from erlbench.errors import UsageError, explain
from erlbench.records.run import (
    ASIDE,
    CHECKPOINTS,
    CONFIG,
    EVENTS,
    KEPT,
    META,
    REPLAY,
    STATUS,
    RunFiles,
    file_checksum,
    has_checkpoint,
    repeats_of,
    starts,
)
from erlbench.running import lease
from erlbench.running.lease import Lease

DONE, FAILED, INTERRUPTED = "done", "failed", "interrupted"  # the status of a run that has ended


class RunDirectory(RunFiles):
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

    def held(self) -> bool:
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

    def known_config(self) -> dict[str, Any] | None:
        """The configuration that the directory was written with, or None for a new one.

        Raises `UsageError` when it cannot be read, and when it is gone while there are rows: without it nobody knows
        to which settings they belong.
        """
        path, found = self.path / CONFIG, {}
        with files.readable(path, advice="; --force starts anew"), suppress(FileNotFoundError):
            found = self.config()
        if found:
            return found
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
        """Checksums of the files that no row is in, for status.json of a finished run."""
        return {name: file_checksum(self.path / name) for name in (EVENTS, CONFIG, META) if (self.path / name).exists()}

    def write_status(self, **values: Any) -> None:
        """Write status.json."""
        values["updated"] = datetime.now(UTC).isoformat(timespec="seconds")
        self._write_json(STATUS, values)

    def take_down(self) -> dict[str, bytes]:
        """The files that a start changes before it has begun, as they are, for `put_back`."""
        names = (name for name in (CONFIG, STATUS, META, EVENTS) if (self.path / name).exists())
        return {name: files.read_bytes(self.path / name, inside=1) for name in names}

    def put_back(self, kept: Mapping[str, bytes]) -> None:
        """Write the files as `take_down` found them."""
        for name, data in kept.items():
            self.write(name, data)

    def add_start(self, machine: Mapping[str, Any], start: Mapping[str, Any]) -> None:
        """Write meta.json: the machine of the last start, one entry per start, and the runs that were moved aside."""
        earlier = {"repeats": found} if (found := repeats_of(self.path)) else {}
        self._write_json(META, {**machine, **start, **earlier, "starts": [*starts(self.meta()), dict(start)]})

    def amend_meta(self, **values: Any) -> None:
        """Write what was found out after the last start."""
        meta = {**self.meta(), **values}
        if found := starts(meta):
            meta["starts"] = [*found[:-1], {**found[-1], **values}]
        self._write_json(META, meta)

    def write(self, name: str, data: bytes) -> None:
        """Replace a file as a whole, unless the directory is no longer this driver's."""
        self.check()
        files.write_durably(self.path / name, data)

    def discard_checkpoints(self) -> None:
        """Remove what only an unfinished run needs: checkpoints, and the replay unless a kept one needs it."""
        shutil.rmtree(self.path / CHECKPOINTS, ignore_errors=True)
        kept = self.has_training_end() or has_checkpoint(self.path / KEPT)
        if not (kept and any(path.stat().st_size for path in (self.path / REPLAY).glob("*"))):
            shutil.rmtree(self.path / REPLAY, ignore_errors=True)

    def _write_json(self, name: str, values: Mapping[str, Any]) -> None:
        self.write(name, f"{json.dumps(values, indent=2)}\n".encode())
