"""Cores, BLAS threads and memory; imports nothing heavy, so that it can run before numpy is imported."""

from __future__ import annotations

import os
from pathlib import Path


def limit_threads() -> None:
    """One BLAS and OpenMP thread for this process and its children; to be called before numpy is imported."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"


def cores() -> int:
    """The cores that this process may use; in a Slurm job those of its task, where Slurm does not bind it to them."""
    own = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    task = os.environ.get("SLURM_CPUS_PER_TASK", "")
    return min(own, int(task)) if task.isdigit() and int(task) else own


def machine_load() -> float:
    """How many processes ran or waited for a core in the last minute, on average; 0 where the system does not tell."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return 0.0


def available_memory() -> float:
    """Bytes that can be had without swapping; all of the memory where the system does not tell."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024.0 * int(line.split()[1])
    except (OSError, ValueError):
        pass
    return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
