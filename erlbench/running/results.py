"""The run directory: its lock, its configuration and its status."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import tomllib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import tomli_w

from erlbench.errors import UsageError
from erlbench.running import lease
from erlbench.running.lease import Lease


class RunDirectory:
    """`results/<env>/<name>/seed-NNN`, held by at most one driver."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: int | None = None  # for this machine
        self._lease: Lease | None = None  # for others

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
        except BlockingIOError as error:
            os.close(lock)
            raise UsageError(f"{self.path} is held by another run; wait for it or choose another --out") from error
        except OSError:
            pass  # a file system without locks: the lease has to do
        try:
            self._lease = Lease(self.path)
        except BaseException:
            os.close(lock)
            raise
        self._lock = lock

    def check_lease(self) -> None:
        """Raise `LostLease` when another machine's driver has taken the directory."""
        if self._lease is not None:
            self._lease.check()

    def held(self) -> bool:
        """Whether a driver runs the cell now, on any machine; takes no lock, so that it hinders no start."""
        return bool(lease.holder(self.path))

    def check_parent(self) -> None:
        """Raise `UsageError` when the directory cannot be made; makes nothing."""
        parent = next(path for path in self.path.absolute().parents if path.exists())
        if not parent.is_dir():
            raise UsageError(f"{self.path} cannot be made: {parent} is not a folder; choose another one by --out")
        if not os.access(parent, os.W_OK | os.X_OK):
            raise UsageError(f"{self.path} cannot be made: {parent} is not writable; choose another folder by --out")

    def release(self) -> None:
        """Release the directory."""
        if self._lease is not None:
            self._lease.release()
            self._lease = None
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

    def meta(self) -> dict[str, Any]:
        """meta.json, or an empty dict."""
        return _read_json(self.path / "meta.json")

    def add_start(self, machine: Mapping[str, Any], start: Mapping[str, Any]) -> None:
        """Write meta.json: the machine of the last start, and one entry per start."""
        starts = _read_json(self.path / "meta.json").get("starts", [])
        text = json.dumps({**machine, **start, "starts": [*starts, dict(start)]}, indent=2)
        write_atomically(self.path / "meta.json", text + "\n")

    def amend_meta(self, **values: Any) -> None:
        """Write what was found out after the last start."""
        meta = {**_read_json(self.path / "meta.json"), **values}
        if meta.get("starts"):
            meta["starts"][-1] |= values
        write_atomically(self.path / "meta.json", json.dumps(meta, indent=2) + "\n")

    def discard_checkpoints(self) -> None:
        """Remove what only an unfinished run needs: checkpoints and replay."""
        for name in ("checkpoint", "replay"):
            shutil.rmtree(self.path / name, ignore_errors=True)


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
