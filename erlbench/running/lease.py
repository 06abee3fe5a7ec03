"""A lease on a run directory: at most one driver holds it, on any machine that sees the directory.

A lease needs only that a file can be created exclusively, as on network file systems. Leases are numbered,
`lease-000001`, `lease-000002`, ...; the one with the highest number counts, and a driver that wants the directory
creates the next one. Of two that try, one succeeds. The numbers never go back, so a process that read the folder long
ago cannot create one that counts.

The holder sets the file's time every `HEARTBEAT` seconds. A lease is over when its holder has released it, when its
process is gone (seen only on the holder's own machine), or when its time has not moved for `PATIENCE` seconds. The
times are those of the file system, so the clocks of the machines need not agree.
"""

from __future__ import annotations

import json
import os
import platform
import re
import secrets
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from erlbench import files
from erlbench.errors import CellError, UsageError

HEARTBEAT = 15.0  # seconds between two signs of life
PATIENCE = 120.0  # seconds without one after which the holder counts as dead
_NAME = re.compile(r"lease-(\d{6,})")


class LostLease(CellError):
    """Another driver holds the folder now; nothing more may be written to it."""


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
        """Raise `CellError` when the folder is no longer at its path, as it was moved, removed or replaced.

        It is a `LostLease` when another driver has taken the folder, as after a long suspension of this process.
        """
        if _newest(self.folder) > self._number:
            raise LostLease(
                f"another driver has taken {self.folder} over: this one gave no sign of life for {PATIENCE:.0f} seconds"
            )
        if not files.is_same_file(_path(self.folder, self._number), self._file):
            raise CellError(
                f"{self.folder} was moved, removed or replaced while this run held it; nothing more was written. Move "
                "it back, if it still exists, and run the same command again"
            )

    def release(self) -> None:
        """Give it up."""
        if not self._released.is_set():
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


def holder(folder: Path) -> str:
    """The machine and process that hold `folder`, or an empty text.

    It writes nothing, so it goes by this machine's clock.
    """
    number = _newest(folder)
    return _living(folder, number, time.time()) if number else ""


def _acquire(folder: Path) -> tuple[int, int]:
    """The number of a new lease, and its open file."""
    number = _newest(folder)
    if number and (living := _living(folder, number, _file_system_time(folder))):
        raise UsageError(f"{folder} is held by another run ({living}); wait for it or choose another --out")
    identity = f"{json.dumps(_identity())}\n".encode()
    try:
        descriptor = os.open(_path(folder, number + 1), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
    except FileExistsError:
        raise UsageError(f"{folder} is held by another run; wait for it or choose another --out") from None
    try:
        os.write(descriptor, identity)
        if _newest(folder) != number + 1:  # others came and went since the folder was read
            raise UsageError(f"{folder} is held by another run; wait for it or choose another --out")
        for older in _numbers(folder):
            if older <= number:
                _path(folder, older).unlink(missing_ok=True)
    except BaseException:  # such as too many open files: nobody may wait for a lease that nobody holds
        os.close(descriptor)
        _path(folder, number + 1).unlink(missing_ok=True)
        raise
    return number + 1, descriptor


def _living(folder: Path, number: int, now: float) -> str:
    """Who holds lease `number`; empty when it is over at the time `now`."""
    path = _path(folder, number)
    try:
        owner, beat = _owner(path), path.stat().st_mtime
    except FileNotFoundError:
        return ""  # somebody has taken the next one
    if not owner:
        return ""
    name = f"process {owner.get('pid', '?')} on {owner.get('host', '?')}"
    identity = _identity()
    if all(owner.get(key) == identity[key] for key in ("host", "boot", "namespace")):
        return name if _started(owner.get("pid")) == owner.get("started") else ""
    return name if now - beat < PATIENCE else ""


def _owner(path: Path) -> dict[str, Any]:
    """What a lease says of its holder; empty when it has been released."""
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
        "boot": _read("/proc/sys/kernel/random/boot_id"),
        "namespace": os.readlink("/proc/self/ns/pid"),
    }


def _started(pid: object) -> str:
    """When a process of this machine began, in clock ticks since boot; a later one with its number has another."""
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 and fields[0] not in "ZX" else ""


def _read(path: str) -> str:
    with suppress(OSError):
        return Path(path).read_text(encoding="utf-8").strip()
    return ""


def _file_system_time(folder: Path) -> float:
    """Seconds, by the clock that stamps the files of `folder`."""
    probe = folder / f"lease.time-{secrets.token_hex(8)}"
    try:
        descriptor = files.new_file(probe)
    except OSError:
        return time.time()  # a folder that may only be read: the best there is
    try:
        return os.fstat(descriptor).st_mtime
    finally:
        os.close(descriptor)
        with suppress(OSError):
            probe.unlink()


def _numbers(folder: Path) -> list[int]:
    try:
        names = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [int(match[1]) for name in names if (match := _NAME.fullmatch(name))]


def _newest(folder: Path) -> int:
    return max(_numbers(folder), default=0)


def _path(folder: Path, number: int) -> Path:
    return folder / f"lease-{number:06d}"
