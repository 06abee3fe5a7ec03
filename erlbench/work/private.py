"""The one folder of this user in a folder that all users of a machine share, such as /dev/shm or /tmp."""

from __future__ import annotations

import os
import stat
import tempfile
from functools import cache
from pathlib import Path

from erlbench.errors import warn

NAME = "erlbench"


def private_folder(parent: Path) -> Path:
    """`parent/erlbench-UID`, with mode 0700; made if it is missing.

    Where anything else has that name, such as a link or what another user put there, it is left alone. The folder
    then has a random name, which all processes of this user find, and a warning says so.
    """
    usual = parent / f"{NAME}-{os.geteuid()}"
    try:
        usual.mkdir(mode=0o700)
        usual.chmod(0o700)  # the umask may have taken more
    except FileExistsError:
        pass
    found = private_folders(parent)
    if found[:1] == [usual]:
        return usual
    chosen = found[0] if found else Path(tempfile.mkdtemp(prefix=f"{usual.name}-", dir=parent))
    chosen.chmod(0o700)
    _say(f"{usual} {_state(usual)}; what processes share lies in {chosen} instead")
    return chosen


def private_folders(parent: Path) -> list[Path]:
    """All folders there that `private_folder` gives now or gave before, the usual one first."""
    usual = parent / f"{NAME}-{os.geteuid()}"
    return [path for path in (usual, *sorted(parent.glob(f"{usual.name}-*"))) if is_private(path)]


def is_private(folder: Path) -> bool:
    """Whether it is a folder of this user, to which nobody else has access; a link to one is none."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    owned = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
    return owned and stat.S_IMODE(found.st_mode) & 0o777 == 0o700


def is_own_file(descriptor: int) -> bool:
    """Whether an open file is a regular one of this user."""
    found = os.fstat(descriptor)
    return stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid()


def _state(path: Path) -> str:
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode):
        return "is no folder"
    if found.st_uid != os.geteuid():
        return f"belongs to another user ({found.st_uid})"
    return f"is open to other users (mode {stat.S_IMODE(found.st_mode):04o})"


@cache
def _say(message: str) -> None:
    """Warn, once in a process."""
    warn(message)
