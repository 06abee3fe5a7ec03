"""The worker's side of a process pool: receive a task, run it, send its result.

This module is preloaded by the fork server, so it must import neither torch nor anything that starts a thread.
"""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from erlbench.errors import UsageError
from erlbench.machine import modules_here
from erlbench.machine.libraries import prepare_libraries
from erlbench.machine.parent import end_with_parent
from erlbench.machine.threads import ONE_THREAD
from erlbench.pool.chunks import HELD
from erlbench.pool.failures import Failure, failure
from erlbench.pool.messages import TaskReader, receive, send, tasks_in, write_answers
from erlbench.pool.occupancy import SecondCore
from erlbench.work.store import Store
from erlbench.work.tasks import Result
from erlbench.work.workspace import Workspace

OVER_MEMORY = 75  # exit code of a worker that has used more memory than it may
SAFE_PATH = "erlbench"  # in PYTHONSAFEPATH: Python does not look for modules in the current folder first
LOOK_EVERY = 0.1  # seconds between two looks at the memory


@dataclass(frozen=True)
class Ready:
    """A gradient worker has imported torch and found its device."""

    device: str


def begin(here: modules_here.State | None, main: Callable[..., None], connection: Any, *arguments: Any) -> None:
    """What every process of a pool begins with: it finds the modules that its driver finds."""
    if here is not None:
        modules_here.install(*here)
    main(connection, *arguments)


def main(
    connection: Any, folder: str, occupancy: str | None, slot: int, device: str | None, memory: int | None = None
) -> None:
    """Serve the driver at the other end of `connection` until it closes that; `device` None: no torch, no GPU.

    A process that uses more than `memory` bytes ends itself.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the driver's business
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})  # blocked in the fork server
    prepare_libraries()
    ONE_THREAD.limit()  # of numpy, too, where the fork server is somebody else's
    if os.environ.get("PYTHONSAFEPATH") == SAFE_PATH:
        del os.environ["PYTHONSAFEPATH"]  # programs that an environment starts know nothing of it
    descriptor = connection.fileno()
    follow_driver(descriptor)
    if memory is not None:
        threading.Thread(target=die_over, args=(memory,), daemon=True).start()
    if device is None:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    else:
        try:
            device = prepare_torch(device, slot)
        except Exception as error:
            send(descriptor, [write_answers([failure(error)])])
            os._exit(0)
        send(descriptor, [write_answers([Ready(device)])])
    workspace, tasks = Workspace(Store(folder), slot, device or "cpu"), TaskReader()
    workspace.second_core = SecondCore(occupancy, slot) if occupancy else None
    try:
        while True:
            serve(workspace, tasks, descriptor)
    except (EOFError, OSError):
        os._exit(0)  # the driver has closed its end


def serve(workspace: Workspace, tasks: TaskReader, descriptor: int) -> None:
    """Receive tasks and run them; their results go back together, but at once where that takes long."""
    answers: list[Result | Failure] = []
    begun = time.monotonic()
    for message in receive(descriptor):
        for answer in perform(workspace, tasks, message):
            answers.append(answer)
            if (now := time.monotonic()) - begun > HELD:
                send(descriptor, [write_answers(answers)])
                answers, begun = [], now
    if answers:
        send(descriptor, [write_answers(answers)])


def perform(workspace: Workspace, tasks: TaskReader, message: bytes) -> Iterator[Result | Failure]:
    """Run the tasks of a message: the `Result` of each, or the `Failure` of whatever went wrong on the way."""
    try:
        read = tasks.read(message)
    except BaseException as error:  # unpickling runs foreign code
        yield from [failure(error)] * tasks_in(message)
        return
    for task in read:
        try:
            answer: Result | Failure = workspace.run(task)
        except BaseException as error:  # an environment may raise SystemExit or KeyboardInterrupt
            answer = failure(error)
        yield answer


def follow_driver(descriptor: int) -> None:
    """Have this process end when the driver ends or closes its end of the connection, from the beginning on.

    The kernel ends it with the fork server, and that with the driver, also where this process holds Python's lock for
    ever. A thread sees all else: another system, a connection that is closed, a driver that was gone before.
    """
    end_with_parent()
    if _hung_up(descriptor, timeout=0):
        os._exit(0)
    threading.Thread(target=die_with_driver, args=(descriptor,), daemon=True).start()


def die_with_driver(descriptor: int) -> None:
    """End this process when the driver's end of the connection is gone."""
    _hung_up(descriptor)
    os._exit(0)


def _hung_up(descriptor: int, timeout: int | None = None) -> bool:
    """Whether the other end is gone, after at most `timeout` milliseconds."""
    poll = select.poll()
    poll.register(descriptor, 0)  # no event asked for: only a hang-up wakes it
    return bool(poll.poll(timeout))


def die_over(memory: int) -> None:
    """End this process when its memory, without what it shares with other processes, is more than `memory` bytes."""
    page = os.sysconf("SC_PAGE_SIZE")
    while True:
        with open("/proc/self/statm", encoding="utf-8") as file:
            _, resident, shared, *_ = map(int, file.read().split())
        if (resident - shared) * page > memory:
            os._exit(OVER_MEMORY)
        time.sleep(LOOK_EVERY)


def prepare_torch(device: str, slot: int) -> str:
    """Import torch for one thread and return the device of `slot`; several GPUs are dealt out in turn.

    Raises `UsageError` for a device that is not there.
    """
    import torch

    ONE_THREAD.limit()
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if device == "auto":
        device = "cuda" if gpus else "cpu"
    if device == "cuda" and gpus:
        device = f"cuda:{slot % gpus}"
    valid = ["cpu", *(f"cuda:{index}" for index in range(gpus))]
    if device not in valid:
        raise UsageError(f"device '{device}' is not available here; devices: auto, {', '.join(valid)}")
    return device
