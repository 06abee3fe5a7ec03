"""Connecting to a Ray cluster: its address, its nodes, and an agent on each of them."""

from __future__ import annotations

import importlib.util
import logging
import os
import socket
from dataclasses import dataclass
from typing import Any

from erlbench.errors import UsageError
from erlbench.pool.base import PoolOptions
from erlbench.pool.ray_agent import Agent, Facts

PATIENCE = 10.0  # seconds to wait for the head
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"  # HTTP/2 begins so: RFC 9113, section 3.4
SETTINGS = 4  # the type of the frame with which a server begins; the fourth byte of a frame
SHARED_MEMORY = 256 * 2**20  # bytes that a node must have; Docker gives 64 MiB by default


@dataclass(frozen=True)
class Member:
    """A node of the cluster that has free cores."""

    node_id: str
    host: str
    cores: int


def connect(address: str) -> bool:
    """Connect this process to the cluster at `address` ("auto": this machine's); whether it was this call that did.

    Raises `UsageError` when there is none.
    """
    if importlib.util.find_spec("ray") is None:
        raise UsageError("--pool ray needs a package that is missing; install it by: pip install 'erlbench[ray]'")
    import ray

    if ray.is_initialized():
        return False
    try:
        head = head_address(address)
        greet(head)
        ray.init(address=head, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, OverflowError, RuntimeError, ValueError) as error:
        place = "on this machine" if address == "auto" else f"at {address}"
        raise UsageError(
            f"there is no Ray cluster {place} ({cause(error)}); start one by `ray start --head`, or name the head's "
            "address: --pool ray://HOST:6379 (the port of `ray start`, not that of Ray Client or of the dashboard)"
        ) from error
    return True


def head_address(address: str) -> str:
    """HOST:PORT of the head: `address`, or where "auto" finds one: RAY_ADDRESS, or the last `ray start` here.

    Raises `ConnectionError` when there is none.
    """
    from ray._private.services import canonicalize_bootstrap_address

    if address != "auto":
        return address
    nodes: str | None = canonicalize_bootstrap_address(address)
    if nodes is None:
        raise ConnectionError("none was started")
    return nodes


def greet(address: str) -> None:
    """Say hello to the head at HOST:PORT as a client of HTTP/2, on which Ray's servers are built.

    Raises `OSError` or `ValueError` when nothing listens there or something else does. Ray itself would try for a
    minute and then end this process.
    """
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), PATIENCE) as link:
        if os.environ.get("RAY_USE_TLS", "0") not in ("0", "false"):
            return  # the head waits for an encrypted hello
        link.sendall(PREFACE)
        answer = link.recv(9)
    if answer[3:4] != bytes([SETTINGS]):
        raise ConnectionError("what listens there is not Ray")


def disconnect() -> None:
    """Leave the cluster; actors of this process end with it."""
    import ray

    if ray.is_initialized():
        ray.shutdown()


def members() -> list[Member]:
    """The nodes that are alive and have a free core."""
    import ray
    from ray._private.state import available_resources_per_node

    free = available_resources_per_node()  # type: ignore[no-untyped-call]
    nodes = []
    for node in ray.nodes():  # type: ignore[no-untyped-call]
        cores = int(free.get(node["NodeID"], {}).get("CPU", 0)) if node["Alive"] else 0
        if cores >= 1:
            nodes.append(Member(node["NodeID"], node["NodeManagerHostname"], cores))
    return nodes


def start_agent(member: Member, processes: int, options: PoolOptions) -> Any:
    """An agent on `member`, with `processes` of its cores."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    actor = ray.remote(Agent).options(
        num_cpus=processes,
        max_restarts=0,
        scheduling_strategy=NodeAffinitySchedulingStrategy(member.node_id, soft=False),
    )
    return actor.remote(processes, options)


def objection(driver: Facts, node: Facts, anyway: bool) -> str:
    """Why a node cannot be used; empty when it can."""
    for name, of_driver, of_node in (
        ("erlbench", driver.erlbench, node.erlbench),
        ("Python", _minor(driver.python), _minor(node.python)),
    ):
        if of_driver != of_node:
            return f"it has {name} {of_node}, the driver {of_driver}; install the same there"
    if node.shared_memory < SHARED_MEMORY:
        return (
            f"its shared memory has {node.shared_memory / 2**20:.0f} MiB, and {SHARED_MEMORY / 2**20:.0f} are needed; "
            "make it larger (docker run --shm-size)"
        )
    if node.arithmetic != driver.arithmetic and not anyway:
        return (
            f"it computes by {node.arithmetic}, the driver by {driver.arithmetic}, so that results would "
            "differ in their last digits; set OPENBLAS_CORETYPE alike on all nodes, or give --anyway"
        )
    return ""


def cause(error: Exception) -> str:
    """What an error of Ray's says, in one line."""
    text = str(getattr(error, "cause", None) or error)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return (lines[-1] if "Traceback" in text else lines[0])[:300] if lines else type(error).__name__


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])
