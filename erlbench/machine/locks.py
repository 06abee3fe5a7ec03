"""Locks on open files (flock). A system without them can still read results."""

from __future__ import annotations

import errno


class NoLocks(OSError):
    """This system has no flock."""


def lock_file(file: int, *, shared: bool = False, wait: bool = True) -> None:
    """Lock an open file for this process alone, or with others that share it; it is unlocked when it is closed.

    Raises `BlockingIOError` where another process holds it and this one does not `wait`, `NoLocks` on other systems.
    """
    try:
        import fcntl  # not at the top: Windows has none
    except ImportError:
        raise NoLocks(errno.ENOLCK, "this system has no flock") from None
    fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
