"""The nodes of a Ray cluster: connecting to them, and on each an actor around a pool of processes with its store.

The driver calls `exchange` again and again, one call at a time for each node. The data of a task come with it or came
before.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import pickle
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from erlbench.errors import ErlbenchError, UsageError
from erlbench.experiment.cells import RunOptions
from erlbench.machine import kernel
from erlbench.pool.base import PoolEvent
from erlbench.pool.processes import ProcessPool
from erlbench.work.replay import NAME as REPLAY
from erlbench.work.replay import OBSERVATIONS, ROWS, TRANSITIONS
from erlbench.work.store import make_store_folder
from erlbench.work.tasks import Result, Task

PATIENCE = 10.0  # seconds to wait for the head
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"  # HTTP/2 begins so: RFC 9113, section 3.4
SETTINGS = 4  # the type of the frame with which a server begins; the fourth byte of a frame
ReplayPart = Mapping[str, tuple[int, bytes]]  # of a replay's files by their name: from which byte on, and the bytes
GATHER = 0.005  # seconds in which results are gathered for one answer


@dataclass(frozen=True)
class Facts:
    """What must agree between a node and the driver; Ray itself compares the versions of Python and of Ray."""

    erlbench: str
    arithmetic: str  # BLAS, kernel and instruction sets: equal ones give equal bits


@dataclass(frozen=True)
class Answer:
    """One finished task: its result by this node's clock, with its arrays themselves; or why it failed."""

    task: int
    outcome: Result | ErlbenchError
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)  # by their name in the store


@dataclass(frozen=True)
class Report:
    """What `exchange` and `prepare` return."""

    now: float  # this node's clock
    device: str
    answers: Sequence[Answer]
    events: Sequence[PoolEvent]


class Agent:
    """Runs on every node, as an actor of Ray's."""

    def __init__(self, processes: int, options: RunOptions) -> None:
        self._pool = ProcessPool(replace(options, processes=processes))
        self._replay = make_store_folder(Path(tempfile.gettempdir()))
        self._pool.store.attach(REPLAY, self._replay)
        self._unfinished: set[int] = set()

    def facts(self) -> Facts:
        """What this node has."""
        return facts()

    def prepare(self, task: Task, workers: int) -> Report:
        """Run `task` on so many workers before anything else."""
        self._pool.prepare(task, workers)
        return self._report([])

    def exchange(
        self,
        pickled_tasks: Sequence[bytes],
        arrays: Mapping[str, np.ndarray],
        replay_part: ReplayPart,
        unneeded: Sequence[str],
        wait: float,
    ) -> Report:
        """Take tasks in, the data that the node lacked, and the names of arrays that are not needed any more.

        Then wait for finished tasks, and return those that come within a few milliseconds; none after `wait` seconds.
        """
        self._pool.store.free(unneeded)
        for name, array in arrays.items():
            self._pool.store.put(name, array)
        write_part(self._replay, replay_part)
        tasks: list[Task] = [pickle.loads(task) for task in pickled_tasks]
        self._unfinished.update(task.id for task in tasks)
        self._pool.submit(tasks)
        return self._report([*self._answers(wait)])

    def reset(self) -> None:
        """Forget all tasks, arrays and the replay."""
        self._pool.reset()
        self._pool.store.clear()
        self._unfinished.clear()
        for path in self._replay.iterdir():
            path.unlink()

    def close(self) -> None:
        """End the processes and remove the files."""
        self._pool.close()
        shutil.rmtree(self._replay, ignore_errors=True)

    def _report(self, answers: Sequence[Answer]) -> Report:
        return Report(time.monotonic(), self._pool.device, answers, self._pool.events())

    def _answers(self, wait: float) -> Iterator[Answer]:
        """What is finished after `wait` seconds at most, and shortly after the first of it."""
        end = time.monotonic() + wait
        while self._unfinished:
            try:
                result = self._pool.next_result(max(0.0, end - time.monotonic()))
            except ErlbenchError as error:
                if error.task not in self._unfinished:
                    raise  # it is about no task
                answer = Answer(error.task, error)
            else:
                if result is None:
                    return
                arrays = {ref.name: np.asarray(self._pool.store.get(ref)) for ref in result.arrays.values()}
                answer = Answer(result.task, result, arrays)
            self._unfinished.remove(answer.task)
            yield answer
            end = min(end, time.monotonic() + GATHER)


def facts() -> Facts:
    """What this machine has."""
    import erlbench

    return Facts(erlbench.__version__, kernel.in_words(kernel.describe()))


# -- copies of a replay, whose files only grow -------------------------------------------------------------------------


def read_part(folder: Path, sizes: Mapping[str, int]) -> ReplayPart:
    """What a copy whose files have these sizes lacks of a replay; rows first, as the driver writes them last."""
    replay_part = {}
    for name in (ROWS, OBSERVATIONS, TRANSITIONS):
        with open(folder / name, "rb") as file:
            file.seek(begin := sizes.get(name, 0))
            replay_part[name] = begin, file.read()
    return replay_part


def write_part(folder: Path, replay_part: ReplayPart) -> None:
    """Add a part to the copy in `folder`."""
    for name, (begin, data) in replay_part.items():
        with open(os.open(folder / name, os.O_CREAT | os.O_RDWR), "r+b") as file:
            file.seek(begin)
            file.write(data)


# -- the cluster ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Member:
    """A node of the cluster that has free cores."""

    node_id: str
    host: str
    cores: int


@contextmanager
def connect(address: str) -> Iterator[None]:
    """Connect this process to the cluster at `address`; at its end, to none: actors of this process end with it.

    "auto" finds a cluster: by RAY_ADDRESS, or the last `ray start` here. A connection that there was stays. Raises
    `UsageError` when there is no cluster.
    """
    if importlib.util.find_spec("ray") is None:
        raise UsageError("--pool ray needs a package that is missing; install it by: pip install 'erlbench[ray]'")
    import ray
    from ray._private.services import canonicalize_bootstrap_address

    if ray.is_initialized():
        yield
        return
    try:
        head = canonicalize_bootstrap_address(address) if address == "auto" else address
        if head is None:
            raise ConnectionError("none was started")
        greet(head)
        ray.init(address=head, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, OverflowError, RuntimeError, ValueError) as error:
        place = "on this machine" if address == "auto" else f"at {address}"
        raise UsageError(
            f"there is no Ray cluster {place} ({cause(error)}); start one by `ray start --head`, or name the head's "
            "address: --pool ray://HOST:6379 (the port of `ray start`, not of Ray Client or of the dashboard)"
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


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


def members() -> list[Member]:
    """The nodes that are alive and have a free core."""
    import ray
    from ray._private.state import available_resources_per_node

    free = available_resources_per_node()  # type: ignore[no-untyped-call]
    nodes = []
    for node in ray.nodes():  # type: ignore[no-untyped-call]
        cores = int(free.get(node["NodeID"], {}).get("CPU", 0)) if node["Alive"] else 0
        if cores:
            nodes.append(Member(node["NodeID"], node["NodeManagerHostname"], cores))
    return nodes


def start_agent(member: Member, processes: int, options: RunOptions) -> Any:
    """An agent on `member`, with `processes` of its cores."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    place = NodeAffinitySchedulingStrategy(member.node_id, soft=False)
    return ray.remote(Agent).options(num_cpus=processes, scheduling_strategy=place).remote(processes, options)


def objection(driver: Facts, node: Facts, anyway: bool) -> str:
    """Why a node cannot be used; empty when it can."""
    if node.erlbench != driver.erlbench:
        return f"it has erlbench {node.erlbench}, the driver {driver.erlbench}; install the same there"
    if node.arithmetic != driver.arithmetic and not anyway:
        return (
            f"it computes by {node.arithmetic}, the driver by {driver.arithmetic}, so that results would "
            "differ in their last digits; set OPENBLAS_CORETYPE alike on all nodes, or give --anyway"
        )
    return ""


def cause(error: Exception) -> str:
    """The text of an error of Ray's in one line."""
    text = str(getattr(error, "cause", None) or error)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return (lines[-1] if "Traceback" in text else lines[0])[:300] if lines else type(error).__name__
