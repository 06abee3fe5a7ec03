"""Cores, BLAS threads, memory and GPUs; imports nothing heavy, so that it can run before numpy is imported."""

from __future__ import annotations

import os
from collections.abc import Iterator
from math import inf
from pathlib import Path

from erlbench.errors import UsageError


def limit_threads() -> None:
    """One BLAS and OpenMP thread for this process and its children; to be called before numpy is imported."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"


def cores() -> int:
    """The cores that this process may use: whole ones of a container's CPU quota, at least 1.

    In a Slurm job those of its task, where Slurm does not bind it to them.
    """
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    count = max(1, int(min(count, cpu_quota())))
    task = os.environ.get("SLURM_CPUS_PER_TASK", "")
    return min(count, int(task)) if task.isdigit() and int(task) else count


def available_memory() -> float:
    """Bytes that can be had without swapping, by the machine and by a container's limit.

    All of the memory where the system does not say.
    """
    free = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    try:
        for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("MemAvailable:"):
                free = 1024.0 * int(line.split()[1])
    except (OSError, ValueError):
        pass
    return min(free, memory_left())


def check_device(device: str) -> None:
    """Refuse a GPU that is not there, before anything runs; only then is torch imported here."""
    if not device.startswith("cuda"):
        return
    import torch

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if int(device.partition(":")[2] or 0) >= count:
        has = f"PyTorch finds {count} here" if count else "PyTorch finds none here"
        raise UsageError(
            f"--device {device}: there is no such GPU, {has}; see `erlbench list machine`, or take --device cpu"
        )


# -- what a container or a job may use: memory and CPU quota of the control groups (cgroup v2) that it is in -----------


# A limit of any group above it binds, too, so the smallest counts. Linux's documentation: admin-guide/cgroup-v2.
# What cannot be read is no limit.
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


def _number(text: str, default: float = inf) -> float:
    """A number; `other` for `max` and what is none."""
    return float(text) if text.isdigit() else default
