"""What a container or a job may use: memory and CPU quota of the control groups (cgroup v2) that it is in.

A limit of any group above it binds, too, so the smallest counts. Linux's documentation: admin-guide/cgroup-v2. What
cannot be read is no limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from pathlib import Path

ROOT = Path("/")


def memory_left(root: Path = ROOT) -> float:
    """Bytes that the groups still give without taking from files' caches; infinity without a limit."""
    left = inf
    for group in _groups(root):
        most = _number(_text(group / "memory.max"))
        cache = dict(line.split(maxsplit=1) for line in _text(group / "memory.stat").splitlines() if " " in line)
        taken = _number(_text(group / "memory.current"), 0.0) - _number(cache.get("inactive_file", ""), 0.0)
        left = min(left, max(0.0, most - max(0.0, taken)))
    return left


def cpu_quota(root: Path = ROOT) -> float:
    """Cores whose time the groups give; infinity without a quota."""
    quota = inf
    for group in _groups(root):
        words = _text(group / "cpu.max").split()  # "max 100000", or microseconds and the period
        if len(words) == 2 and (period := _number(words[1], 0.0)):
            quota = min(quota, _number(words[0]) / period)
    return quota


def _groups(root: Path) -> Iterator[Path]:
    """The folders of this process's group and of all groups above it; a container may see its own alone."""
    top = root / "sys/fs/cgroup"
    paths = [line[3:] for line in _text(root / "proc/self/cgroup").splitlines() if line.startswith("0::/")]
    for path in paths:
        folder = top if ".." in path else top / path.lstrip("/")
        yield from (folder, *folder.parents[: len(folder.parts) - len(top.parts)])


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return ""


def _number(text: str, other: float = inf) -> float:
    """A number; `other` for `max` and what is none."""
    return float(text) if text.isdigit() else other
