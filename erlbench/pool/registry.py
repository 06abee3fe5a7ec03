"""Pools by the name of their kind: `process` on this machine (0 processes: `serial`), `ray` on a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from erlbench.errors import UsageError
from erlbench.experiment.pool_kind import LOCAL, check_kind, cluster_address
from erlbench.pool.base import Pool
from erlbench.pool.options import PoolOptions
from erlbench.pool.processes import ProcessPool
from erlbench.pool.serial import SerialPool
from erlbench.work.store import Store


@contextmanager
def connected(kind: str) -> Iterator[None]:
    """What pools of `kind` need of this process; raises `UsageError` when there is no cluster."""
    if check_kind(kind) == LOCAL:
        yield
        return
    from erlbench.pool.cluster import connection

    ours = connection.connect(cluster_address(kind))
    try:
        yield
    finally:
        if ours:
            connection.disconnect()


def make_pool(kind: str, options: PoolOptions) -> Pool:
    """A pool of `kind`, which the caller closes; within `connected`."""
    if kind == LOCAL:
        processes = 1 if options.processes is None else options.processes
        return local_pool(
            processes,
            options.device,
            options.task_timeout,
            one_core=options.one_core,
            worker_memory=options.worker_memory,
        )
    from erlbench.pool.cluster.ray_pool import RayPool

    return RayPool(options)


def local_pool(
    processes: int,
    device: str = "cpu",
    task_timeout: float = 1800.0,
    store: Store | None = None,
    start_method: str | None = None,
    one_core: bool = False,
    worker_memory: int | None = None,
) -> Pool:
    """A pool of `processes` worker processes of this machine; 0 runs the tasks in this process.

    Without `store` the pool makes its own and removes it when closed. With `one_core` no process uses a second core
    that is idle. A worker that uses more than `worker_memory` bytes is replaced.
    """
    if processes < 0:
        raise UsageError(f"the number of processes is {processes}; it must be 0 (this process) or more")
    if processes == 0:
        return SerialPool(device, store)
    return ProcessPool(processes, device, task_timeout, store, start_method, one_core, worker_memory=worker_memory)
