"""The folder of a run while a driver holds it: lease, configuration, status.

At most one driver holds a folder, on any machine that sees it. A lease needs only that a file can be created
exclusively, as on network file systems. Leases are numbered, `lease-000001`, `lease-000002`, ...; the one with the
highest number counts, and a driver that wants the folder creates the next one. Of two that try, one succeeds. The
numbers never go back, so a process that read the folder long ago cannot create one that counts.

The holder sets the file's time every `HEARTBEAT` seconds. A lease is over when its holder has released it, when its
process is gone, or when its time has not moved for `PATIENCE` seconds. On the holder's machine the process counts, not
the time, but for a copy of the file. The times are the file system's, so the clocks of the machines need not agree.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from erlbench import files
from erlbench.errors import CellError, UsageError, explain
from erlbench.machine.process import read_system_file
from erlbench.records.run import (
    ASIDE,
    CHECKPOINTS,
    CONFIG,
    EVENTS,
    META,
    REPLAY,
    STATUS,
    TRAINING_END,
    RunFiles,
    file_checksum,
    read_repeats,
    starts,
)

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
            _make_folder(self.path)
            files.refuse_links(self.path)
            self._lease = Lease(self.path)
        except (OSError, files.Unusable) as error:
            why = explain(error, self.path) if isinstance(error, OSError) else error
            raise UsageError(f"{self.path} cannot be written: {why}") from error

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
        number, taken = 1, {entry.get("folder") for entry in read_repeats(self.path)}
        while (target := self.path.with_name(f"{self.path.name}{ASIDE}{number}")).exists() or target.name in taken:
            number += 1
        self.path.rename(target)
        return target

    # -- what is in it --------------------------------------------------------------------------------------------

    def saved_config(self) -> dict[str, Any] | None:
        """The configuration that the directory was written with, or None for a new one.

        Raises `UsageError` when it cannot be read, and when it is gone while there are rows: without it nothing tells
        to which settings they belong.
        """
        path = self.path / CONFIG
        if path.exists() and (config := self.readable_config("; --force starts anew")):
            return config
        if self.has_rows() or self.has_checkpoint():
            state = "empty" if path.exists() else "missing"
            raise UsageError(
                f"{path} is {state}, so the settings of the run in this folder are unknown; put it back, or start "
                "anew by --force (the old run is moved aside)"
            )
        return None

    def sums(self) -> dict[str, str]:
        """Checksums of events.csv, config.toml and meta.json, for status.json of a finished run."""
        return {name: file_checksum(self.path / name) for name in (EVENTS, CONFIG, META) if (self.path / name).exists()}

    def write_status(self, **values: Any) -> None:
        """Write status.json."""
        values["updated"] = datetime.now(UTC).isoformat(timespec="seconds")
        self._write_json(STATUS, values)

    def add_start(self, machine: Mapping[str, Any], start: Mapping[str, Any]) -> None:
        """Write meta.json: the machine of the last start, one entry per start, and the runs that were moved aside."""
        earlier = {"repeats": repeats} if (repeats := read_repeats(self.path)) else {}
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
        if not (
            self.has_checkpoint(TRAINING_END) and any(path.stat().st_size for path in (self.path / REPLAY).glob("*"))
        ):
            shutil.rmtree(self.path / REPLAY, ignore_errors=True)

    def _write_json(self, name: str, values: Mapping[str, Any]) -> None:
        self.write(name, f"{json.dumps(values, indent=2)}\n".encode())


# -- the lease -------------------------------------------------------------------------------------------------------


HEARTBEAT = 15.0  # seconds between two signs of life
PATIENCE = 120.0  # seconds without one after which the holder counts as dead
NAMES = f"lease-{'[0-9]' * 6}"
ADVICE = "wait for it or choose another --out"


class Lease:
    """The lease that this process holds on `folder`."""

    def __init__(self, folder: Path) -> None:
        """Take it; raises `UsageError` when another driver holds it, OSError when the folder cannot be written."""
        self.folder = folder
        self._released = threading.Event()
        self._number, self._file = _acquire(folder)  # the file stays open: whoever moves the folder takes it along
        self._thread = threading.Thread(target=self._beat, name="lease", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Raise `CellError` when another driver has taken the folder, as after a long suspension of this process.

        Or when the folder is no longer at its path, as it was moved, removed or replaced.
        """
        if _newest(self.folder) > self._number:
            raise CellError(
                f"another driver has taken {self.folder} over: this one gave no sign of life for {PATIENCE:.0f} seconds"
            )
        if not files.is_same_file(_path(self.folder, self._number), self._file):
            raise CellError(
                f"{self.folder} was moved, removed or replaced while this run held it; nothing more was written. Move "
                "it back, if it still exists, and run the same command again"
            )

    def release(self) -> None:
        """Give it up."""
        self._released.set()
        self._thread.join()
        with suppress(OSError):
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, b"{}\n", 0)
        os.close(self._file)

    def _beat(self) -> None:
        while not self._released.wait(HEARTBEAT):
            with suppress(OSError):  # a file system that is away for a moment, or a lease that is lost
                os.utime(self._file)


def lease_holder(folder: Path) -> str:
    """The machine and process that hold `folder`, or an empty text.

    It takes no lease, so that it hinders no start, and writes nothing, so it goes by this machine's clock.
    """
    number = _newest(folder)
    return _living(folder, number, time.time()) if number else ""


def _acquire(folder: Path) -> tuple[int, int]:
    """The number of a new lease, and its open file."""
    number, held = _newest(folder), f"{folder} is held by another run"
    if number and (living := _living(folder, number, _file_system_time(folder))):
        raise UsageError(f"{held} ({living}); {ADVICE}")
    path = _path(folder, number + 1)
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
    except FileExistsError:
        raise UsageError(f"{held}; {ADVICE}") from None
    try:
        owner = {**_identity(), "inode": os.fstat(descriptor).st_ino}
        os.write(descriptor, f"{json.dumps(owner)}\n".encode())
        if _newest(folder) != number + 1:  # others came and went since the folder was read
            raise UsageError(f"{held}; {ADVICE}")
        for older in folder.glob(NAMES):
            if older < path:
                older.unlink(missing_ok=True)
    except BaseException:  # such as too many open files: do not wait for a lease without a holder
        os.close(descriptor)
        path.unlink(missing_ok=True)
        raise
    return number + 1, descriptor


def _living(folder: Path, number: int, now: float) -> str:
    """The holder of lease `number`; empty when it is over at the time `now`."""
    path = _path(folder, number)
    try:
        owner, file = _owner(path), path.stat()
    except FileNotFoundError:
        return ""  # somebody has taken the next one
    if not owner:
        return ""
    name = f"process {owner.get('pid', '?')} on {owner.get('host', '?')}"
    identity = _identity()
    if all(owner.get(key) == identity[key] for key in ("host", "boot", "namespace")):
        if _started(owner.get("pid")) != owner.get("started"):
            return ""
        if owner.get("inode", file.st_ino) == file.st_ino:  # else a copy, or on a file system without lasting ones
            return name
    return name if now - file.st_mtime < PATIENCE else ""


def _owner(path: Path) -> dict[str, Any]:
    """The holder that a lease names; empty when it has been released."""
    with suppress(ValueError):
        owner = files.read_json(path, inside=1)
        if isinstance(owner, dict):
            return owner
    return {"host": "a machine that is writing its lease"}  # it has a heartbeat's time for that


def _identity() -> dict[str, Any]:
    return {
        "host": platform.node(),
        "pid": os.getpid(),
        "started": _started(os.getpid()),
        "boot": read_system_file("/proc/sys/kernel/random/boot_id"),
        "namespace": os.readlink("/proc/self/ns/pid"),
    }


def _started(pid: object) -> str:
    """When a process of this machine began, in clock ticks since boot; a later one with its number has another."""
    fields = read_system_file(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 and fields[0] not in "ZX" else ""


def _make_folder(folder: Path) -> None:
    """Make a folder and those above it, so that they outlast a loss of power."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for path in missing:
        files.sync_folder(path.parent)


def _file_system_time(folder: Path) -> float:
    """Seconds, by the clock that stamps the files of `folder`."""
    with tempfile.TemporaryFile(dir=folder) as probe:
        return os.fstat(probe.fileno()).st_mtime


def _newest(folder: Path) -> int:
    return max((int(path.name.partition("-")[2]) for path in folder.glob(NAMES)), default=0)


def _path(folder: Path, number: int) -> Path:
    return folder / f"lease-{number:06d}"
