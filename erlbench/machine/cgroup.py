"""What a container or a job may use: memory and CPU quota of the control groups (cgroup v1 and v2) that it is in.

A limit of any group above it binds, too, so the smallest counts. Linux's documentation: admin-guide/cgroup-v1 and
admin-guide/cgroup-v2. What cannot be read is no limit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import inf
from pathlib import Path

ROOT = Path("/")


def memory_left(root: Path = ROOT) -> float:
    """Bytes that the groups still give without taking from files' caches; infinity without a limit."""
    left = inf
    for group in _groups("memory", root):
        for limit, used, cache in (
            ("memory.max", "memory.current", "inactive_file"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        ):
            most = _number(group / limit)
            if most is not None:
                taken = (_number(group / used) or 0.0) - _entries(group / "memory.stat").get(cache, 0.0)
                left = min(left, max(0.0, most - max(0.0, taken)))
    return left


def cpu_quota(root: Path = ROOT) -> float:
    """Cores whose time the groups give; infinity without a quota."""
    quota = inf
    for group in _groups("cpu", root):
        words = _text(group / "cpu.max").split()  # "max 100000", or microseconds and the period
        found = [_value(word) for word in words] or [
            _number(group / "cpu.cfs_quota_us"), _number(group / "cpu.cfs_period_us")
        ]  # fmt: skip
        if len(found) == 2 and found[0] and found[1]:
            quota = min(quota, found[0] / found[1])
    return quota


def _groups(controller: str, root: Path) -> Iterator[Path]:
    """The folders of this process's group and of all groups above it that are mounted here, with a controller."""
    own = dict(_memberships(_text(root / "proc/self/cgroup")))
    for line in _text(root / "proc/self/mountinfo").splitlines():
        fields, _, rest = line.partition(" - ")
        words, (kind, *more) = fields.split(), rest.split() or [""]
        if len(words) < 5 or kind not in ("cgroup", "cgroup2"):
            continue
        name = controller if kind == "cgroup" and controller in more[-1].split(",") else ""
        if (kind == "cgroup" and not name) or name not in own:
            continue
        top = root / _unescaped(words[4]).lstrip("/")
        inside = Path(own[name])
        folder = top
        if inside.is_relative_to(_unescaped(words[3])):  # else the group's own folder is what is mounted
            folder = top / inside.relative_to(_unescaped(words[3]))
        while True:
            if ".." not in folder.parts:
                yield folder
            if folder == top:
                break
            folder = folder.parent


def _memberships(text: str) -> Iterator[tuple[str, str]]:
    """Controller and path of each line of /proc/self/cgroup; version 2 has an empty name."""
    for line in text.splitlines():
        _, names, path = [*line.split(":", 2), "", ""][:3]
        for name in names.split(","):
            yield name, path


def _unescaped(path: str) -> str:
    """A path of mountinfo, which has blanks as octal numbers."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), path)


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""


def _value(word: str) -> float | None:
    """A number; None for `max`, -1 and what is no number."""
    return float(word) if word.isdigit() else None


def _number(file: Path) -> float | None:
    return _value(_text(file).strip())


def _entries(file: Path) -> dict[str, float]:
    pairs = [line.split() for line in _text(file).splitlines()]
    return {pair[0]: float(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}
