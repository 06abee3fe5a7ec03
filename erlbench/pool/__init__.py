"""The worker pools: one interface over this process, processes and a cluster."""

from __future__ import annotations

from erlbench.pool.base import Pool, PoolEvent
from erlbench.pool.options import PoolOptions
from erlbench.pool.processes import ProcessPool
from erlbench.pool.registry import local_pool, make_pool
from erlbench.pool.serial import SerialPool

__all__ = ["Pool", "PoolEvent", "PoolOptions", "ProcessPool", "SerialPool", "local_pool", "make_pool"]
