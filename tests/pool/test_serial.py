"""The pool that runs tasks in the driver: a signal ends the task, whatever a library makes of that."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from erlbench.errors import Interrupted, TaskError
from erlbench.pool import local_pool
from erlbench.running.command import catch_signals

from .helpers import one, task


@pytest.fixture
def soon():
    """Sends this process a signal in a moment."""
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM))
    timer.start()
    yield
    timer.join()


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("made_of_it", ["nothing", "an ImportError", "an outcome"])
def test_a_signal_ends_a_task_which_runs_again_whatever_a_library_makes_of_it(made_of_it):
    stop = threading.Event()
    with local_pool(0) as pool, catch_signals(stop, pool.interrupt_task):
        pool.submit([task(1, "sleep_in_parts", {"seconds": 20.0, "made_of_it": made_of_it})])
        begun = time.monotonic()
        assert pool.next_result() is None
        assert time.monotonic() - begun < 5.0
        assert stop.is_set()
        assert [task.id for task in pool.running().values()] == [1]
        pool.reset()
        assert one(pool, task(2)).task == 2


@pytest.mark.usefixtures("soon")
def test_a_signal_ends_preparations():
    with local_pool(0) as pool, catch_signals(threading.Event(), pool.interrupt_task), pytest.raises(Interrupted):
        pool.prepare(task(-1, "sleep_in_parts", {"seconds": 20.0}), 1)


def test_errors_of_imports_are_errors():
    stop = threading.Event()
    with local_pool(0) as pool, catch_signals(stop, pool.interrupt_task):
        pool.submit([task(1, "wrong", {"error": "import"})])
        with pytest.raises(TaskError, match="ModuleNotFoundError"):
            pool.next_result()
        assert not stop.is_set()
        assert one(pool, task(2)).task == 2
