"""What every kind of pool is made of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class PoolOptions:
    """Processes, device and limits of a pool."""

    processes: int | None = None  # of this machine (None: 1), or at most of each node (None: its free cores)
    device: str = "cpu"  # of gradient tasks: cpu, cuda, cuda:0, ..., or auto
    task_timeout: float = 1800.0  # seconds that a task may take before its worker is killed
    one_core: bool = False  # no process uses a second core that is idle
    anyway: bool = False  # use nodes whose BLAS computes with other kernels, too
    worker_memory: int | None = None  # bytes after which a worker is replaced
