"""A worker process: how it starts, what it does with tasks, and how it ends with its driver.

This module is preloaded by the fork server, so it must import neither torch nor anything that starts a thread.
"""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import sys
import tempfile
import threading
import time
import types
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import multiprocess
from multiprocess import forkserver, resource_tracker, util

from erlbench.errors import ErlbenchError
from erlbench.machine.process import INTERRUPTION, PRELOAD, end_with_parent, prepare_libraries
from erlbench.machine.threads import ONE_THREAD
from erlbench.pool.base import task_error
from erlbench.work.store import Store, make_store_folder, shared_memory_folder
from erlbench.work.tasks import Result, Task
from erlbench.work.workspace import Workspace

GATHER = 0.005  # seconds in which the results of short tasks are gathered for one message
SAFE_PATH = "erlbench"  # in PYTHONSAFEPATH: Python does not look for modules in the current folder first
STARTS = 12  # attempts to start a worker, over 3 seconds
LONGEST = 70  # characters of a temporary folder, as the path of a socket below it has at most 107
BLOCKED = {signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2}  # Slurm sends the last two to a job's end

# The multiprocess library keeps one list of all children and one fork server, and neither is made for threads.
LOCK = threading.RLock()


# -- the process ------------------------------------------------------------------------------------------------------


def serve(connection: Any, workspace: Workspace) -> None:
    """Run the tasks that the driver sends, in lists, until it closes the connection.

    It sends lists of `Result`s and errors, in the order of the tasks.
    """
    while True:
        count, message = pickle.loads(connection.recv_bytes())
        try:
            tasks: list[Task] = pickle.loads(message)
        except BaseException as error:  # unpickling runs foreign code
            connection.send_bytes(pickle.dumps([task_error("its worker", error)] * count))
            continue
        answers: list[Result | ErlbenchError] = []
        begin = time.monotonic()
        for task in tasks:
            answers.append(_run(workspace, task))
            if task is tasks[-1] or time.monotonic() - begin > GATHER:
                connection.send_bytes(_message(answers))
                answers, begin = [], time.monotonic()


def _run(workspace: Workspace, task: Task) -> Result | ErlbenchError:
    try:
        return workspace.run(task)
    except BaseException as error:  # an environment may raise SystemExit or KeyboardInterrupt
        return task_error(task.label, error, task.id)


def _message(answers: list[Result | ErlbenchError]) -> bytes:
    """The message of answers; of one that pickle refuses, the error of that."""
    try:
        return pickle.dumps(answers, pickle.HIGHEST_PROTOCOL)
    except BaseException as error:  # whatever a value's code raises
        if len(answers) == 1:
            return pickle.dumps([task_error("its result", error)])
        return pickle.dumps([pickle.loads(_message([answer]))[0] for answer in answers])


def prepare_torch(device: str, slot: int) -> str:
    """Import torch for one thread and return the device of `slot`; several GPUs are dealt out in turn."""
    import torch

    ONE_THREAD.limit()
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if device == "auto":
        device = "cuda" if gpus else "cpu"
    return f"cuda:{slot % gpus}" if device == "cuda" and gpus else device


# -- its start, and its end with the driver ---------------------------------------------------------------------------


def start(folder: str, slot: int, device: str | None) -> tuple[Any, Any]:
    """The driver's end of a connection, and the new worker at the other end.

    The worker first sends the device on which it computes gradients: None, and it has no torch and sees no GPU, where
    `device` is None. A fork server that is killed meanwhile is started anew.
    """
    context = start_fork_server()
    for attempt in range(1, STARTS + 1):
        connection, child_connection = context.Pipe()
        process = context.Process(target=_begin, args=(child_connection, folder, slot, device), daemon=True)
        try:
            with _surroundings():
                process.start()
        except (OSError, EOFError):
            connection.close()
            if attempt == STARTS:
                raise
            time.sleep(0.05 * attempt)  # one that is being killed may still look alive
        else:
            return connection, process
        finally:
            child_connection.close()
    raise AssertionError


def start_fork_server() -> Any:
    """The context of the multiprocess library for it; it loads while the driver goes on, and lives as long as that."""
    context = multiprocess.get_context("forkserver")
    context.set_forkserver_preload([*PRELOAD])
    with _surroundings():
        _place_socket()
        forkserver.ensure_running()
    return context


def _place_socket() -> None:
    """Put the fork server's socket into shared memory where the temporary folder has too long a name for one."""
    places = multiprocess.current_process()._config
    if "tempdir" not in places and len(tempfile.gettempdir()) > LONGEST:
        places["tempdir"] = str(make_store_folder(shared_memory_folder()))
        util.Finalize(None, shutil.rmtree, (places["tempdir"],), {"ignore_errors": True}, exitpriority=-100)


@contextmanager
def _surroundings() -> Iterator[None]:
    """What a process inherits that is started here.

    That is one BLAS thread, no `__main__` to import again, a path of modules that does not begin with the current
    folder, where a `random.py` would take the place of Python's, and blocked signals: they often go to all processes
    of a run, and the fork server has to outlive them for the driver to save. One that another thread takes waits, too.
    """
    with LOCK, INTERRUPTION.hold():
        before, main = dict(os.environ), sys.modules["__main__"]
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED)
        try:
            os.environ.setdefault("PYTHONSAFEPATH", SAFE_PATH)
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


def _begin(connection: Any, folder: str, slot: int, device: str | None) -> None:
    """The start of every worker. It ends with the fork server, which ends with the driver, whatever both do.

    The fork server ends when the write end of its pipe is closed everywhere, so a worker must not hold it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the driver's business
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    end_with_parent()
    with suppress(OSError):
        os.close(forkserver._forkserver._forkserver_alive_fd)
    prepare_libraries()
    ONE_THREAD.limit()  # also of numpy, where the fork server is not ours
    if os.environ.get("PYTHONSAFEPATH") == SAFE_PATH:
        del os.environ["PYTHONSAFEPATH"]  # programs that an environment starts know nothing of it
    if device is None:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    device = device and prepare_torch(device, slot)
    workspace = Workspace(Store(folder), slot, device or "cpu")
    with suppress(EOFError, OSError):  # the driver has closed its end
        connection.send_bytes(pickle.dumps(device))
        serve(connection, workspace)
    os._exit(0)
