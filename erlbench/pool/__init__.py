"""The worker pools: one face over this process, processes, and simulated time."""

from __future__ import annotations

from erlbench.errors import UsageError
from erlbench.pool.base import Pool, PoolEvent
from erlbench.pool.processes import ProcessPool
from erlbench.pool.serial import SerialPool
from erlbench.pool.simulated import SimulatedPool
from erlbench.work.store import Store

__all__ = ["Pool", "PoolEvent", "ProcessPool", "SerialPool", "SimulatedPool", "create"]


def create(
    processes: int,
    device: str = "cpu",
    task_timeout: float = 1800.0,
    store: Store | None = None,
    start_method: str | None = None,
    one_core: bool = False,
    worker_memory: int | None = None,
) -> Pool:
    """A pool of `processes` worker processes; 0 runs the tasks in this process.

    `device` of gradient tasks: cpu, cuda, cuda:0, ..., or auto. `task_timeout` in seconds. Without `store` the pool
    makes its own and removes it when closed. With `one_core` no process uses a second core that is idle. A worker
    that uses more than `worker_memory` bytes is replaced.
    """
    if processes < 0:
        raise UsageError(f"the number of processes is {processes}; it must be 0 (this process) or more")
    if processes == 0:
        return SerialPool(device, store)
    return ProcessPool(processes, device, task_timeout, store, start_method, one_core, worker_memory=worker_memory)
