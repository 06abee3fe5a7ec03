"""Which environments have passed their trial on this machine: a private folder with one small file for each.

What a file says is input like any other: a file of another owner, one that others may read or write, a link, and one
with other values than these count as if they were not there.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import stat
import sysconfig
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from erlbench import __version__
from erlbench.envs.catalogue import FRESH
from erlbench.work.identity import file_digest, named_files

MOST_BYTES, MOST_FILES = 4096, 500
TRIAL = 3  # grows when trials find more, so that no earlier outcome counts


@dataclass(frozen=True)
class Passed:
    """The outcome of a trial that was passed."""

    fresh: str  # as `EnvSpec.fresh`
    remarks: tuple[str, ...]


def folder() -> Path:
    """Where they are: XDG_CACHE_HOME or ~/.cache, `erlbench/admitted`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "erlbench" / "admitted"


def key_of(name: str, settings: Mapping[str, Any], files: Mapping[str, str], model: str) -> str:
    """What decides a trial: the environment, its settings and their files, the modules that are loaded, the model.

    Of what is installed, time and size of each file; of all other files, their content.
    """
    installed = tuple(sysconfig.get_path(place) for place in ("purelib", "platlib"))
    modules = [(path, _stamp(path) if path.startswith(installed) else file_digest(path)) for path in files.values()]
    named = [file_digest(path) for _, path in named_files("", settings)]
    decides = [__version__, TRIAL, name, repr(sorted(settings.items())), sorted(modules), named, model]
    return hashlib.sha256(json.dumps(decides).encode()).hexdigest()


def recall(key: str) -> Passed | None:
    """The outcome of an earlier trial; None without one that can be trusted."""
    with suppress(OSError, ValueError, RecursionError, RuntimeError):
        descriptor = os.open(folder() / key, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            if _is_private(os.fstat(descriptor), stat.S_IFREG) and _is_private(os.lstat(folder()), stat.S_IFDIR):
                return _parsed(json.loads(file.read(MOST_BYTES)))
    return None


def keep(key: str, passed: Passed) -> None:
    """Remember an outcome, where that can be done; of `MOST_FILES` the oldest go."""
    with suppress(OSError, RuntimeError):
        place = folder()
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_private(os.lstat(place), stat.S_IFDIR):
            return
        others = sorted(
            (entry for entry in os.scandir(place)), key=lambda entry: entry.stat(follow_symlinks=False).st_mtime
        )
        for entry in others[: len(others) - MOST_FILES + 1]:
            os.unlink(entry.path)
        part = place / f".{secrets.token_hex(8)}"
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            json.dump(asdict(passed), file)
        os.replace(part, place / key)


def _stamp(path: str) -> tuple[int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


def _is_private(found: os.stat_result, kind: int) -> bool:
    return stat.S_IFMT(found.st_mode) == kind and found.st_uid == os.geteuid() and not found.st_mode & 0o077


def _parsed(values: Any) -> Passed | None:
    if not isinstance(values, dict) or values.keys() != {"fresh", "remarks"} or values["fresh"] not in ("", *FRESH):
        return None
    remarks = values["remarks"]
    if not isinstance(remarks, list) or not all(isinstance(text, str) and text.isprintable() for text in remarks):
        return None
    return Passed(values["fresh"], tuple(text[:500] for text in remarks[:5]))
