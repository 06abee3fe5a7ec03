"""What holds for every pool, and what of the one that runs tasks in the driver: a signal ends the task."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from erlbench.errors import CellError, Interrupted, NumericalError, TaskError
from erlbench.pool.worker import prepare_torch
from erlbench.running.command import catch_signals
from erlbench.work.tasks import Priority

from .helpers import local_pool, one, results, task


@pytest.fixture(params=[0, 2])
def pool(request):
    with local_pool(request.param) as pool:
        yield pool


def test_gpus_are_dealt_out_in_turn(monkeypatch):
    import torch

    for gpus, device, devices in (
        (0, "auto", ["cpu"] * 3), (1, "auto", ["cuda:0"] * 3), (2, "auto", ["cuda:0", "cuda:1", "cuda:0"]),
        (2, "cuda", ["cuda:0", "cuda:1", "cuda:0"]), (2, "cuda:1", ["cuda:1"] * 3), (2, "cpu", ["cpu"] * 3),
    ):  # fmt: skip
        monkeypatch.setattr(torch.cuda, "is_available", lambda gpus=gpus: gpus > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda gpus=gpus: gpus)
        assert [prepare_torch(device, slot) for slot in range(3)] == devices


def test_tasks_give_the_same_numbers_everywhere(pool):
    pool.submit([task(2), task(1)])
    first = results(pool, 2)
    inputs = {"a": first[1].arrays["array"], "b": first[2].arrays["array"]}
    pool.submit([task(3, inputs=inputs)])
    found = results(pool, 1)[3]

    def draw(task_id, *added):
        key = np.random.SeedSequence((7, task_id))
        array = np.random.Generator(np.random.Philox(key)).standard_normal(5).astype(np.float32)
        for value in added:
            array = array + value
        return array

    three = draw(3, draw(1).sum(), draw(2).sum())
    np.testing.assert_array_equal(pool.store.get(found.arrays["array"]), three)
    assert found.values["sum"] == float(three.sum())


@pytest.mark.parametrize("processes", [0, 1])
def test_tasks_change_the_current_folder_for_tasks_alone(processes, tmp_path):
    here, folder = os.getcwd(), str(tmp_path)
    with local_pool(processes) as pool:
        before = [one(pool, task(number, "enter", {"folder": folder})).values["before"] for number in (1, 2)]
        assert [before, os.getcwd()] == [[here, folder], here]


def test_a_task_runs_where_the_current_folder_is_gone(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    with local_pool(0) as pool:
        monkeypatch.chdir(tmp_path / "gone")
        (tmp_path / "gone").rmdir()
        assert one(pool, task(1)).task == 1


@pytest.mark.parametrize("timeout", [None, 0.2])
def test_waiting_for_a_result_that_nothing_can_bring_is_an_error(pool, timeout):
    """It was None at once, so that a mistake in the loop of a run turned on the spot."""
    pool.submit([task(1)])
    results(pool, 1)
    with pytest.raises(RuntimeError, match="no task"):
        pool.next_result(timeout)


@pytest.mark.parametrize(
    ("error", "cls", "message"),
    [
        ("numerical", NumericalError, r"^task 1 \(test\): the reward of step 3 is nan$"),
        ("memory", TaskError, r"^task 1 \(test\): out of memory"),
        ("full", CellError, r"^task 1 \(test\): shared memory is full"),
        ("division", TaskError, r"^task 1 \(test\) raised ZeroDivisionError: division by zero$"),
        ("exit", TaskError, r"^task 1 \(test\) raised SystemExit: 4$"),
        ("import", TaskError, r"^task 1 \(test\) raised ModuleNotFoundError: "),
    ],
)
def test_errors_name_the_task_and_keep_their_class(pool, error, cls, message):
    pool.submit([task(1, "wrong", {"error": error}), task(2)])
    with pytest.raises(cls, match=message) as caught:
        results(pool, 2)
    assert caught.value.task == 1
    if isinstance(caught.value, TaskError):
        assert "functions.py" in caught.value.details
    pool.submit([task(3, "sleep", {"seconds": 30.0 * (pool.processes > 0)})])
    pool.reset()  # forgets tasks, whose ids can be used again
    assert dict(pool.running()) == {}
    pool.submit([task(1), task(3)])
    assert set(results(pool, 2)) == {1, 3}
    assert not list(pool.store.folder.glob("*.part*"))


def test_a_function_that_returns_no_outcome_is_named(pool):
    pool.submit([task(1, "wrong", {"error": "nothing"})])
    with pytest.raises(TaskError, match="functions:wrong returned a NoneType"):
        results(pool, 1)


def test_priorities_decide_what_starts_first():
    evaluation, actor = task(2, priority=Priority.EVALUATION), task(3, priority=Priority.ACTOR)
    for processes, order in ((0, [4, 5, 1, 3, 2]), (1, [1, 4, 5, 3, 2])):  # the first one keeps the only worker busy
        with local_pool(processes) as pool:
            pool.submit([task(1, priority=Priority.ACTOR)])
            pool.submit([evaluation, actor, task(5), task(4)])
            assert list(results(pool, 5)) == order


def soon(act, *given):
    """Send this process a signal while `act` goes on."""
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM))
    timer.start()
    try:
        return act(*given)
    finally:
        timer.join()


@pytest.mark.parametrize("made_of_it", ["nothing", "an ImportError", "an outcome"])
def test_a_signal_ends_a_task_which_runs_again_whatever_a_library_makes_of_it(made_of_it):
    stop = threading.Event()
    with local_pool(0) as pool, catch_signals(stop):
        pool.submit([task(1, "sleep_in_parts", {"seconds": 20.0, "made_of_it": made_of_it})])
        begun = time.monotonic()
        assert soon(pool.next_result) is None
        assert time.monotonic() - begun < 5.0
        assert stop.is_set()
        assert [task.id for task in pool.running().values()] == [1]
        pool.reset()
        assert one(pool, task(2)).task == 2


def test_a_signal_ends_preparations():
    with local_pool(0) as pool, catch_signals(threading.Event()), pytest.raises(Interrupted):
        soon(pool.prepare, task(-1, "sleep_in_parts", {"seconds": 20.0}), 1)
