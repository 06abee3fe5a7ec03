"""The worker pools: one interface over this process, processes, a cluster, and simulated time."""

from __future__ import annotations

from erlbench.pool.base import Pool, PoolEvent
from erlbench.pool.options import PoolOptions
from erlbench.pool.processes import ProcessPool
from erlbench.pool.registry import local_pool, make_pool
from erlbench.pool.serial import Abandoned, SerialPool
from erlbench.pool.simulated import SimulatedPool

__all__ = [
    "Abandoned",
    "Pool",
    "PoolEvent",
    "PoolOptions",
    "ProcessPool",
    "SerialPool",
    "SimulatedPool",
    "local_pool",
    "make_pool",
]
