"""Folders that belong to a process as long as it lives: a lock file in each is held by that process.

A folder that nobody holds was left behind by a process that was killed. The next one that makes a folder removes it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

PREFIX = "erlbench-"
LOCK = "lock"


class HeldFolder:
    """A new folder in `parent`; what killed processes left there under names that begin with `prefix` goes first."""

    def __init__(self, parent: Path, prefix: str = PREFIX) -> None:
        remove_abandoned(parent, prefix)
        self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        self._lock = os.open(self.path / "unlocked", os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.rename(self.path / "unlocked", self.path / LOCK)  # nobody ever finds a lock that is not held

    def remove(self) -> None:
        """Remove it with all that it holds, and give it up."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def remove_abandoned(parent: Path, prefix: str = PREFIX) -> list[Path]:
    """Remove the folders that nobody holds, and return them."""
    removed = []
    for folder in parent.glob(prefix + "*"):
        try:
            lock = os.open(folder / LOCK, os.O_RDWR)
        except OSError:
            continue  # being made, being removed, or somebody else's
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            continue
        else:
            discard(folder)
            removed.append(folder)
        finally:
            os.close(lock)
    return removed


def discard(folder: Path) -> None:
    """Remove a folder whose lock this process holds alone.

    It is renamed first: whoever waits for its lock then finds another folder there or none, never half of this one.
    """
    aside = tempfile.mkdtemp(prefix=f"{folder.name}-", dir=folder.parent)
    os.rename(folder, aside)
    shutil.rmtree(aside, ignore_errors=True)
