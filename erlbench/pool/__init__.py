"""The worker pools, by the name of their kind: `process` on this machine (0: in this process), `ray` on a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from erlbench.errors import UsageError
from erlbench.experiment.cells import LOCAL, RunOptions
from erlbench.pool.base import Pool, PoolEvent
from erlbench.pool.processes import ProcessPool

__all__ = ["Pool", "PoolEvent", "ProcessPool", "connected", "local_pool", "make_pool"]


@contextmanager
def connected(kind: str) -> Iterator[None]:
    """What pools of `kind` need of this process; raises `UsageError` when there is no cluster."""
    if kind == LOCAL:
        yield
        return
    from erlbench.pool.ray_nodes import connect

    with connect(kind.partition("://")[2] or "auto"):
        yield


def make_pool(options: RunOptions) -> Pool:
    """A pool of the kind `options.pool`, which the caller closes; within `connected`."""
    if options.pool != LOCAL:
        from erlbench.pool.ray_pool import RayPool

        return RayPool(options)
    if options.processes < 0:
        raise UsageError(f"the number of processes is {options.processes}; it must be 0 (this process) or more")
    if options.processes == 0:
        from erlbench.pool.serial import SerialPool  # not at the top: workers, and runs that have some, need none of it

        return SerialPool(options.device)
    return ProcessPool(options)


def local_pool(processes: int, **options: Any) -> Pool:
    """A pool of `processes` worker processes of this machine; 0 runs the tasks in this process.

    `options` are those of `RunOptions`.
    """
    return make_pool(RunOptions(processes, **{"device": "cpu", **options}))
