"""Worker processes: what they see, what is sent to them at a time, and what happens when one dies or hangs."""

import os
import re
import signal
import sys
import threading
import time

import multiprocess
import numpy as np
import pytest
from multiprocess import reduction

from erlbench.errors import Interrupted, TaskError
from erlbench.machine.process import INTERRUPTION
from erlbench.pool.processes import CHUNK, Durations, ProcessPool
from erlbench.running.command import catch_signals
from erlbench.work.tasks import Result
from tests.processes import wait_for

from .helpers import local_pool, one, results, task


def test_a_rollout_worker_is_small_and_has_one_thread_no_torch_and_no_gpu(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    main = sys.modules["__main__"]
    with local_pool(1) as pool:
        values = one(pool, task(1, "surroundings")).values
    assert not {name for name in values["modules"] if name.split(".")[0] in ("torch", "click", "matplotlib", "pandas")}
    assert values["environment"] == {
        "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "",
        "PYTHONSAFEPATH": None,
    }  # fmt: skip
    assert values["resident"] < 120 * 2**20
    assert values["main"] is None  # the driver's script is not imported again
    assert values["pid"] != os.getpid()
    assert os.environ["OMP_NUM_THREADS"] == "8"
    assert sys.modules["__main__"] is main


def test_a_gradient_worker_has_torch_with_one_thread_and_slots_of_the_other_kind_stay_free():
    with local_pool(3, device="auto") as pool:
        pool.prepare(task(-1, "surroundings", gradient=True), 1)
        pool.prepare(task(-1, "surroundings"), 1)
        gradient, rollout = one(pool, task(1, "surroundings", gradient=True)), one(pool, task(2, "surroundings"))
        assert (gradient.process, rollout.process) == (0, 2)
        for slots in ({2}, {1, 2}, {0, 1, 2}):  # few workers are started
            pool.submit([task(number, "sleep", {"seconds": 0.3}) for number in slots])
            assert {result.process for result in results(pool, len(slots)).values()} == slots
        assert pool.device == gradient.values["device"] != "auto"
        (stop := threading.Event()).set()
        with pytest.raises(Interrupted):
            pool.prepare(task(-1, "sleep", {"seconds": 100.0}), 3, stop)
    assert gradient.values["torch_threads"] == 1
    assert "torch" not in rollout.values["modules"]


def test_tasks_run_at_the_same_time_one_per_slot():
    with local_pool(2) as pool:
        pool.submit([task(index, "sleep", {"seconds": 0.2}) for index in range(3)])
        assert {slot: running.id for slot, running in pool.running().items()} in ({0: 0, 1: 1}, {0: 1, 1: 0})
        first, second, third = (result for _, result in sorted(results(pool, 3).items()))
    assert max(first.start, second.start) < min(first.end, second.end) <= third.start
    assert {first.process, second.process} == {0, 1}


class Unreadable:
    def __reduce__(self):
        return int, ("x",)


@pytest.mark.parametrize("together", [1, 3])
def test_what_cannot_be_sent_is_an_error_of_the_task(together, monkeypatch):
    """Of those that are sent with it only where the worker cannot read their message."""
    monkeypatch.setattr(Durations, "chunk_size", lambda *given: together)
    unsendable, unreadable = {"function": lambda: None}, {"x": Unreadable()}
    with local_pool(1) as pool:
        for bad, good in (
            (task(2, "wrong", {"error": "pickle"}), {1, 3}), (task(2, "wrong", unsendable), {1, 3}),
            (task(2, "wrong", unreadable), {1, 3} if together == 1 else set()),
        ):  # fmt: skip
            pool.submit([task(1, "wrong"), bad, task(3, "wrong")])
            outcomes = {}
            while len(outcomes) < 3:
                try:
                    outcomes[pool.next_result(30).task] = True
                except TaskError as error:
                    outcomes[error.task] = False
            assert {number for number, done in outcomes.items() if done} == good


@pytest.mark.parametrize(
    ("seconds", "ready", "processes", "size"),
    [(None, 100, 1, 1), (0.01, 100, 1, 10), (0.01, 100, 4, 10), (0.01, 100, 10, 5), (0.01, 15, 8, 1), (9.0, 100, 1, 1),
     (0.0, 100, 1, 50)],
)  # fmt: skip
def test_as_many_go_together_as_take_a_tenth_of_a_second_or_half_of_a_share(seconds, ready, processes, size):
    durations = Durations()
    if seconds is not None:
        durations.note(task(1), Result(1, {}, {}, 5.0, 5.0 + seconds, 0))
    assert durations.chunk_size(task(2), ready, processes) == size
    durations.note(task(3), Result(3, {}, {}, 5.0, 6.0, 0))
    expected = 1.0 if seconds is None else 0.9 * seconds + 0.1
    assert durations.seconds(task(2)) == pytest.approx(expected)
    assert durations.seconds(task(4, "sleep")) == np.inf


@pytest.mark.parametrize(
    ("how", "told"),
    [
        (1, "signal 1 (SIGHUP)"),
        (9, "signal 9 (SIGKILL)"),
        (40, "signal 40 (a real-time signal)"),
        ("exit", "exit code 3"),
        ("child", "code 3"),
    ],
)
def test_a_task_whose_worker_died_runs_again_with_the_same_outcome(tmp_path, how, told):
    with local_pool(1) as pool:
        for log in ("first", "second")[: 1 + (how == 9)]:  # the deaths of a task that has ended are forgotten
            found = one(pool, task(1, "die", {"log": str(tmp_path / log), "times": 2, "how": how}))
            array = np.array(pool.store.get(found.arrays["array"]))
            events = pool.events()
        assert pool.events() == []
        assert not list(pool.store.folder.glob("*.part*"))
    with local_pool(0) as pool:
        np.testing.assert_array_equal(array, pool.store.get(one(pool, task(1)).arrays["array"]))
    assert [event.event for event in events] == ["worker died"] * 2
    assert all("task 1 (test)" in event.message and told in event.message for event in events)


def test_a_hung_worker_is_killed_and_its_task_runs_again(tmp_path):
    with local_pool(1, task_timeout=1.5) as pool:  # in which the same task must end, too, when it does not hang
        pool.submit([task(1, "die", {"log": str(tmp_path / "log"), "times": 1, "how": "hang"})])
        assert results(pool, 1)[1].values.keys() == {"sum"}
        (event,) = pool.events()
    assert event.event == "task hung"
    assert "task 1 (test)" in event.message
    assert "1.5 s" in event.message


def test_short_tasks_go_together_in_order_and_long_ones_alone(monkeypatch):
    sent, send = [], ProcessPool._send
    monkeypatch.setattr(ProcessPool, "_send", lambda *given: sent.append(len(given[-1])) or send(*given))
    with local_pool(1) as pool:
        pool.submit([task(index) for index in range(100)])
        done = results(pool, 100)
        assert sum(sent) == 100
        assert 4 < max(sent) <= 50
        assert sent[-2:] == [1, 1]  # the last ones are shared out
        assert list(done) == list(range(100))
        assert all(done[index].end <= done[index + 1].start for index in range(99))
        sent.clear()
        pool.submit([task(index, "sleep", {"seconds": 0.6 * CHUNK}) for index in range(100, 106)])
        assert len(results(pool, 6)) == 6
        assert sent == [1] * 6


def test_the_task_that_ends_its_worker_is_told_from_those_sent_with_it(tmp_path, monkeypatch):
    """Three go together, of which a starved worker may have sent the first one's result before the second ends it."""
    monkeypatch.setattr(Durations, "chunk_size", lambda *given: 3)
    deaths = {1: 0, 2: 99, 3: 0}
    with local_pool(1) as pool:
        pool.submit(
            task(number, "die", {"log": str(tmp_path / str(number)), "times": times, "how": 9})
            for number, times in deaths.items()
        )
        assert pool.running()[0].id == 1
        with pytest.raises(TaskError, match=r"task 2 \(test\) .*3 workers") as caught:
            results(pool, 3)
        assert caught.value.details.count("SIGKILL") == 3
        assert results(pool, 1).keys() == {3}
        events = [event.message for event in pool.events()]
    assert re.match(r"task [12] \(test\) or one of the [12] sent with it, worker process", events[0])
    assert ["task 2 (test), worker" in message for message in events] == [False, True, True]


def test_a_signal_while_a_worker_starts_waits_until_it_has(monkeypatch):
    """The kernel gives a signal to any thread that does not block it, and Python runs its handler in the main one."""
    stop, ended = threading.Event(), threading.Event()
    thread = threading.Thread(target=ended.wait, daemon=True)
    thread.start()
    send = reduction.sendfds

    def interrupted(*given):
        os.kill(os.getpid(), signal.SIGTERM)
        wait_for(stop.is_set, 5)
        send(*given)

    with local_pool(1) as pool, catch_signals(stop):
        monkeypatch.setattr(reduction, "sendfds", interrupted)
        with INTERRUPTION.allow():
            pool.submit([task(1)])
        assert results(pool, 1)[1].task == 1
    ended.set()
    assert stop.is_set()


def test_a_worker_that_cannot_be_started_is_tried_for_three_seconds(monkeypatch):
    tried, slept = [], []

    def refused(process):
        tried.append(process)
        raise ConnectionResetError

    with local_pool(1) as pool:
        monkeypatch.setattr(multiprocess.get_context("forkserver").Process, "start", refused)
        monkeypatch.setattr(time, "sleep", slept.append)
        with pytest.raises(ConnectionResetError):
            pool.submit([task(1)])
    assert len(tried) == len(slept) + 1 > 2
    assert 3 < sum(slept) < 4
