"""Folders that belong to a process as long as it lives: a lock file in each is held by that process.

They lie below the private folder of their user. One that nobody holds was left behind by a process that was killed; the
next process that makes one removes it. What has no lock with the suite's signature is never removed.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from erlbench.machine.locks import NoLocks, lock_file
from erlbench.work.private import is_own_file, is_private, private_folder, private_folders

LOCK = "lock"
SIGNATURE = b"erlbench: remove this folder when no process holds this lock (flock)\n"


class HeldFolder:
    """A new folder in the user's private folder in `parent`; what killed processes left there is removed first."""

    def __init__(self, parent: Path, kind: str) -> None:
        remove_abandoned(parent)
        self.path = Path(tempfile.mkdtemp(prefix=f"{kind}-", dir=private_folder(parent)))
        try:
            self._lock = open_lock(self.path / "unlocked")
            with suppress(NoLocks):  # then nobody removes what others have left
                lock_file(self._lock, wait=False)
            os.rename(self.path / "unlocked", self.path / LOCK)  # nobody ever finds a lock that is not held
        except BaseException:
            shutil.rmtree(self.path, ignore_errors=True)
            raise

    def remove(self) -> None:
        """Remove it with all that it holds, and give it up."""
        _remove(self.path)
        os.close(self._lock)


def open_lock(path: Path) -> int:
    """An open file with the suite's signature, made if it is missing."""
    lock = os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600)
    try:
        os.pwrite(lock, SIGNATURE, 0)
    except OSError as error:
        os.close(lock)
        raise OSError(error.errno, error.strerror, str(path)) from error  # shared memory is full, for instance
    return lock


def remove_abandoned(parent: Path) -> list[Path]:
    """Remove the folders in this user's private folder in `parent` that nobody holds, and return them."""
    return [folder for home in private_folders(parent) for folder in home.iterdir() if _remove_if_abandoned(folder)]


def discard(folder: Path) -> None:
    """Remove a folder whose lock this process holds alone.

    It is renamed first: whoever waits for its lock then finds another folder there or none, never half of this one.
    """
    aside = folder.with_name(f"{folder.name}-{secrets.token_hex(4)}")
    os.rename(folder, aside)
    _remove(aside)


def _remove_if_abandoned(folder: Path) -> bool:
    if not is_private(folder):
        return False
    try:
        lock = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)  # a pipe would block
    except OSError:
        return False  # being made, being removed, or none of ours
    try:
        if not is_own_file(lock) or os.pread(lock, len(SIGNATURE) + 1, 0) != SIGNATURE:
            return False
        lock_file(lock, wait=False)
        discard(folder)
    except OSError:
        return False  # held
    finally:
        os.close(lock)
    return True


def _remove(folder: Path) -> None:
    """Remove all that a folder holds, the lock last: what is cut off here still has its signature."""
    with suppress(OSError):
        for entry in os.scandir(folder):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry, ignore_errors=True)
            elif entry.name != LOCK:
                os.unlink(entry)
    shutil.rmtree(folder, ignore_errors=True)
