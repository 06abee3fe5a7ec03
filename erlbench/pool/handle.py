"""The driver's side of one worker process: start it, talk to it, end it."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import time
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import multiprocess
from multiprocess import forkserver, resource_tracker

from erlbench.machine import modules_here
from erlbench.machine.libraries import prepare_libraries
from erlbench.machine.parent import LastingThread
from erlbench.pool import messages, worker
from erlbench.pool.failures import Failure
from erlbench.work.tasks import Task

PRELOAD = [
    "erlbench.pool.server", "numpy", "mujoco", "gymnasium", "erlbench.envs.mujoco_fast", "erlbench.pool.worker",
    "erlbench.work.rollout",
]  # fmt: skip

OVER_MEMORY = "using more memory than 'worker_memory' allows"
SERVER_DIED = "with the fork server"
STARTS = 12  # attempts to start a worker, over 3 seconds
BLOCKED = {signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2}  # Slurm sends the last two to a job's end
SCARCE = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)  # which another attempt does not change

# The multiprocess library keeps one list of all children and one fork server, and neither is made for threads.
LOCK = threading.RLock()

# All processes are started from one thread, since they end with the thread that started them.
STARTS_FROM = LastingThread()


def start_context(method: str | None = None) -> Any:
    """A context of the multiprocess library: fork server where there is one, else spawn; never fork.

    The fork server is started here and loads while the driver goes on; it lives as long as the driver does.
    """
    if method is None:
        method = "forkserver" if "forkserver" in multiprocess.get_all_start_methods() else "spawn"
    if method not in ("forkserver", "spawn"):
        raise ValueError(f"workers are started by forkserver or spawn, not by {method}")
    context = multiprocess.get_context(method)
    if method == "forkserver":
        context.set_forkserver_preload(PRELOAD)
        _start(forkserver.ensure_running)
    return context


def forget_fork_server() -> None:
    """Have a fork start a fork server of its own: that of its parent is no child of this process."""
    forkserver._forkserver._forkserver_pid = None


def _start(start: Callable[[], Any]) -> None:
    """Start a process, in the surroundings of workers; the fork server, too, if it is not there."""

    def in_surroundings() -> None:
        with worker_surroundings():
            start()

    STARTS_FROM.call(in_surroundings)


@contextmanager
def worker_surroundings() -> Iterator[None]:
    """What a process inherits that is started here.

    That is one thread, no `__main__` to import again, blocked signals, and a path of modules that does not begin with
    the current folder: a file `random.py` there would take the place of Python's.

    `BLOCKED` often go to all processes of a run; the fork server has to outlive them for the driver to save.
    """
    with LOCK:
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED)
        before, main = dict(os.environ), sys.modules["__main__"]
        try:
            os.environ.setdefault("PYTHONSAFEPATH", worker.SAFE_PATH)
            resource_tracker.ensure_running()
            signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED)  # the line above unblocks Ctrl-C and SIGTERM
            prepare_libraries()
            sys.modules["__main__"] = types.ModuleType("__main__")
            yield
        finally:
            sys.modules["__main__"] = main
            for name in set(os.environ) - set(before):
                del os.environ[name]
            os.environ.update(before)
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


class WorkerProcess:
    """One worker process of `slot`; `device` None: a rollout worker."""

    def __init__(
        self,
        context: Any,
        folder: Path,
        occupancy: Path | None,
        slot: int,
        device: str | None,
        memory: int | None = None,
    ) -> None:
        self.slot = slot
        self.gradient = device is not None
        self.closed = False
        self.finished = 0  # tasks
        self.ready = device is None  # a gradient worker says so when it has imported torch
        self._tasks = messages.TaskWriter()
        arguments = (str(folder), occupancy and str(occupancy), slot, device, memory)
        self.connection, self._process = started(context, worker.main, arguments)
        self._descriptor = self.connection.fileno()
        self.pid: int = self._process.pid
        self.sentinel: int = self._process.sentinel

    def write(self, tasks: Iterable[Task]) -> bytes:
        """The message of tasks, to be sent in turn; raises what pickle raises."""
        return self._tasks.write(*tasks)

    def send(self, written: Iterable[bytes]) -> None:
        """Send messages; that the worker has died is found out elsewhere."""
        with suppress(OSError):
            messages.send(self._descriptor, written)

    def receive(self) -> list[Any]:
        """What the worker has to say: each a `Result`, a `Failure` or that it is `Ready`.

        EOFError or OSError: it is gone.
        """
        received = messages.receive(self._descriptor)
        answers = [answer for message in received for answer in messages.read_answers(message, self.slot)]
        if any(isinstance(answer, Failure) for answer in answers):
            self._tasks.forget()  # it may not even have understood the message
        return answers

    def kill(self) -> None:
        """End the process in whatever it does."""
        self._process.kill()

    def close(self) -> str:
        """Wait for the end of the process, free everything, and return how it ended.

        Closing the connection ends a process that still lives.
        """
        self.closed = True
        self.connection.close()
        with LOCK:
            self._process.join(2)
            if self._process.is_alive():
                self._process.kill()
                self._process.join()
            code: int = self._process.exitcode
            self._process.close()
        if code == worker.OVER_MEMORY:
            return OVER_MEMORY
        if code == 255:  # what the library says when nobody is left who could say it
            return SERVER_DIED
        return f"signal {-code} ({signal.Signals(-code).name})" if code < 0 else f"exit code {code}"


def started(context: Any, main: Callable[..., None], arguments: tuple[Any, ...]) -> tuple[Any, Any]:
    """The driver's end of a connection and the new process at the other end, which runs `main(its end, *arguments)`.

    A fork server that is killed meanwhile is started anew. Each attempt has a connection of its own: the last one may
    have got as far as a worker, which ends when its connection does.
    """
    for attempt in range(STARTS):
        connection, theirs = context.Pipe()
        arguments_of_begin = (modules_here.state(), main, theirs, *arguments)
        process = context.Process(target=worker.begin, args=arguments_of_begin, daemon=True)
        try:
            _start(process.start)
        except (OSError, EOFError) as error:
            connection.close()
            if attempt == STARTS - 1 or (isinstance(error, OSError) and error.errno in SCARCE):
                raise
            time.sleep(0.05 * (attempt + 1))  # one that is being killed may still look alive
        else:
            return connection, process
        finally:
            theirs.close()
    raise AssertionError
