"""Cores, BLAS threads, memory and GPUs; imports nothing heavy, so that it can run before numpy is imported."""

from __future__ import annotations

import os
from pathlib import Path

from erlbench.errors import UsageError
from erlbench.machine.cgroup import cpu_quota, memory_left


def limit_threads() -> None:
    """One BLAS and OpenMP thread for this process and its children; to be called before numpy is imported."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"


def cores() -> int:
    """The cores that this process may use: whole ones of a container's CPU quota, at least 1.

    In a Slurm job those of its task, where Slurm does not bind it to them.
    """
    own = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    own = max(1, int(min(own, cpu_quota())))
    task = os.environ.get("SLURM_CPUS_PER_TASK", "")
    return min(own, int(task)) if task.isdigit() and int(task) else own


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
