"""Worker processes: what they see, and what happens when one of them dies, hangs, or loses its driver."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil
import pytest
from multiprocess import forkserver

from erlbench.errors import TaskError
from erlbench.pool import local_pool
from erlbench.pool.handle import start_context
from erlbench.work.store import Store
from erlbench.work.tasks import Output
from tests.runs import heed_interrupts

from .helpers import one, results, task

# -- what a worker sees -----------------------------------------------------------------------------------------------


def test_a_rollout_worker_is_small_and_has_one_thread_no_torch_and_no_gpu(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    main = sys.modules["__main__"]
    with local_pool(1) as pool:
        values = one(pool, task(1, "surroundings")).values
    assert not {name for name in values["modules"] if name.split(".")[0] in ("torch", "click", "matplotlib", "pandas")}
    assert values["environment"] == {
        "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "",
    }  # fmt: skip
    assert values["resident"] < 120 * 2**20
    assert values["main"] is None  # the driver's script is not imported again
    assert values["pid"] != os.getpid()
    assert os.environ["OMP_NUM_THREADS"] == "8"
    assert sys.modules["__main__"] is main


def test_a_gradient_worker_has_torch_with_one_thread_beside_a_rollout_worker_without():
    with local_pool(1) as pool:
        pool.submit([task(1, "surroundings", gradient=True), task(2, "surroundings"), task(3, gradient=True)])
        found = results(pool, 3)
    assert found[1].values["torch_threads"] == 1
    assert found[1].values["device"] == "cpu"
    assert "torch" not in found[2].values["modules"]
    assert found[1].values["pid"] != found[2].values["pid"]
    assert found[2].end < found[1].start  # rollouts go on while torch is imported
    assert {result.process for result in found.values()} == {0}


def test_auto_is_resolved_by_the_first_gradient_worker():
    with local_pool(1, device="auto") as pool:
        device = one(pool, task(1, "surroundings", gradient=True)).values["device"]
        assert pool.device == device != "auto"


def test_spawn_is_a_fallback_and_fork_is_refused():
    with local_pool(1, start_method="spawn") as pool:
        values = one(pool, task(1, "surroundings")).values
    assert values["environment"]["OPENBLAS_NUM_THREADS"] == "1"
    assert "torch" not in values["modules"]
    with pytest.raises(ValueError, match="fork"):
        start_context("fork")


# -- scheduling -------------------------------------------------------------------------------------------------------


def test_tasks_run_at_the_same_time_one_per_slot():
    with local_pool(2) as pool:
        pool.submit([task(index, "sleep", {"seconds": 0.2}) for index in range(3)])
        assert {slot: running.id for slot, running in pool.running().items()} in ({0: 0, 1: 1}, {0: 1, 1: 0})
        found = results(pool, 3)
        assert dict(pool.running()) == {}
    assert found[0].start < found[1].end
    assert found[1].start < found[0].end
    assert found[2].start >= min(found[0].end, found[1].end)
    assert {found[0].process, found[1].process} == {0, 1}


@pytest.mark.parametrize(("processes", "sleeping", "expected"), [(1, 0, False), (2, 0, True), (2, 1, False)])
def test_a_task_is_told_whether_a_core_is_idle(processes, sleeping, expected):
    """One process expects one core to be busy; of two, one is idle when the sleeping task has ended."""
    with local_pool(processes) as pool:
        pool.submit([task(1, "sleep", {"seconds": 0.5})] * sleeping + [task(2, "second_core")])
        found = results(pool, 1 + sleeping)
        assert found[2].values == {"idle": expected}
        assert one(pool, task(3, "second_core")).values == {"idle": processes == 2}


def test_with_one_core_no_task_is_told_of_another():
    with local_pool(2, one_core=True) as pool:
        assert one(pool, task(1, "second_core")).values == {"idle": False}


@pytest.mark.parametrize("end", ["reset", "die"])
def test_a_core_is_idle_again_when_a_worker_is_gone(end, tmp_path):
    with local_pool(2) as pool:
        if end == "reset":
            pool.submit([task(1, "sleep", {"seconds": 60})])
            pool.reset()
        else:
            deadly = {"log": str(tmp_path / "log"), "times": 3, "how": "signal"}
            with pytest.raises(TaskError, match="has ended 3 workers"):
                one(pool, task(1, "die", deadly))
        assert one(pool, task(2, "second_core")).values == {"idle": True}


def test_next_result_gives_up_after_its_timeout():
    with local_pool(1) as pool:
        pool.submit([task(1, "sleep", {"seconds": 0.5})])
        begin = time.monotonic()
        assert pool.next_result(0.05) is None
        assert time.monotonic() - begin < 0.4
        assert pool.next_result(30) is not None


def test_what_cannot_be_sent_is_an_error_of_the_task():
    with local_pool(1) as pool:
        pool.submit([task(1, "wrong", {"error": "pickle"})])
        with pytest.raises(TaskError, match=r"task 1 \(test\) raised"):
            pool.next_result(30)
        pool.submit([task(2, settings={"function": lambda: None})])
        with pytest.raises(TaskError, match=r"task 2 \(test\) cannot be sent"):
            pool.next_result(30)
        assert one(pool, task(3)).task == 3


# -- deaths -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("how", "told"), [("signal", "signal 9 (SIGKILL)"), ("exit", "exit code 3")])
def test_a_task_whose_worker_died_runs_again_with_the_same_outcome(tmp_path, how, told):
    with local_pool(1) as pool:
        pool.submit([
            task(1, "die", {"log": str(tmp_path / "log"), "times": 2, "how": how}),
            task(2, inputs={"a": Output(1, "array")}),
        ])  # fmt: skip
        found = results(pool, 2)
        array = np.array(pool.store.get(found[1].arrays["array"]))
        events = pool.events()
        assert pool.events() == []
    with local_pool(0) as pool:
        np.testing.assert_array_equal(array, pool.store.get(one(pool, task(1)).arrays["array"]))
    assert [event.event for event in events] == ["worker died"] * 2
    assert all("task 1 (test)" in event.message and told in event.message for event in events)


def test_a_task_that_kills_three_workers_fails(tmp_path):
    with local_pool(2) as pool:
        pool.submit([task(1, "die", {"log": str(tmp_path / "log"), "times": 99, "how": "signal"}), task(2), task(3)])
        with pytest.raises(TaskError, match=r"task 1 \(test\) has ended 3 workers.*SIGKILL") as caught:
            results(pool, 3)
        assert caught.value.details.count("SIGKILL") == 3
        pool.reset()
        assert one(pool, task(4)).task == 4
    assert (tmp_path / "log").read_text() == "xxx"


def test_an_interrupt_raised_by_a_task_is_the_tasks_error(capfd):
    with local_pool(1) as pool:
        pool.submit([task(1, "wrong", {"error": "interrupt"})])
        with pytest.raises(TaskError, match=r"^task 1 \(test\) raised KeyboardInterrupt"):
            results(pool, 1)
        assert pool.events() == []
    assert "Traceback" not in capfd.readouterr().err


def test_a_hung_worker_is_killed_and_its_task_runs_again(tmp_path):
    with local_pool(1, task_timeout=0.5) as pool:
        pool.submit([task(1, "die", {"log": str(tmp_path / "log"), "times": 1, "how": "hang"})])
        assert results(pool, 1)[1].values.keys() == {"sum"}
        (event,) = pool.events()
    assert event.event == "task hung"
    assert "task 1 (test)" in event.message
    assert "0.5 s" in event.message


def test_a_worker_that_died_idle_is_replaced():
    with local_pool(1) as pool:
        pid = one(pool, task(1, "surroundings")).values["pid"]
        os.kill(pid, signal.SIGKILL)
        time.sleep(0.1)
        again = one(pool, task(2, "surroundings")).values["pid"]
        assert again != pid
        assert "signal 9" in pool.events()[0].message


def test_the_fork_server_may_die():
    with local_pool(1) as pool:
        pids = {one(pool, task(1, "surroundings")).values["pid"]}
        os.kill(forkserver._forkserver._forkserver_pid, signal.SIGKILL)
        pids |= {one(pool, task(task_id, "surroundings")).values["pid"] for task_id in (2, 3)}
        one(pool, task(4, "sleep", {"seconds": 0.1}))
        pids |= {one(pool, task(5, "surroundings")).values["pid"]}
        assert len(pool.events()) == 1
    assert gone(pids, 0)


# -- ends -------------------------------------------------------------------------------------------------------------


def gone(pids, seconds):
    """Whether all processes end within some seconds; a zombie that nobody reaps has ended."""
    end = time.monotonic() + seconds
    while True:
        alive = [pid for pid in pids if psutil.pid_exists(pid)]
        try:
            if all(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE for pid in alive):
                return True
        except psutil.NoSuchProcess:
            continue
        if time.monotonic() > end:
            return False
        time.sleep(0.02)


def test_reset_and_close_end_the_workers_at_once():
    pool = local_pool(2)
    pids = [result.values["pid"] for result in [one(pool, task(1, "surroundings"))]]
    pool.submit([task(2, "busy"), task(3, "busy")])
    begin = time.monotonic()
    pool.reset()
    assert gone(pids, 0)
    pids = [one(pool, task(4, "surroundings")).values["pid"]]
    pool.submit([task(5, "busy"), task(6, "busy", gradient=True)])
    pool.close()
    assert time.monotonic() - begin < 2
    assert gone(pids, 0)


def test_pools_leave_no_descriptor_and_no_process():
    with local_pool(1) as pool:  # the fork server and the resource tracker stay, so they must have been started
        one(pool, task(1))
    gc.collect()
    me = psutil.Process()
    before = me.num_fds(), {child.pid for child in me.children(recursive=True)}
    for _ in range(3):
        with local_pool(2) as pool:
            pool.submit([task(index, "sleep", {"seconds": 0.01}) for index in range(4)])
            results(pool, 4)
            pool.submit([task(9, "busy")])
    assert (me.num_fds(), {child.pid for child in me.children(recursive=True)}) == before


def test_threads_may_each_have_a_pool():
    found, main = {}, sys.modules["__main__"]

    def work(number):
        for _ in range(3):
            with local_pool(1) as pool:
                found.setdefault(number, []).append(one(pool, task(number)).values["sum"])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sys.modules["__main__"] is main
    assert [len(set(found[number])) for number in range(3)] == [1, 1, 1]
    assert [len(found[number]) for number in range(3)] == [3, 3, 3]


DRIVER = """
import sys, time
from multiprocess import forkserver, resource_tracker
from erlbench.pool import create
from erlbench.work.tasks import Task

functions = "tests.pool.functions:"
pool = create(3)
pool.submit([Task(1, "test", functions + "draw", (1,), gradient=True)])
pool.next_result()
pool.submit([
    Task(2, "test", functions + "busy", (1,), gradient=True), Task(3, "test", functions + "busy", (1,)),
    Task(4, "test", functions + "sleep", (1,), {"seconds": float(sys.argv[1])}),
])
pids = [worker.pid for slot in pool._slots for worker in (slot.rollout, slot.gradient) if worker]
pids += [forkserver._forkserver._forkserver_pid, resource_tracker._resource_tracker._pid]
try:
    print(pool.store.folder, *pids, flush=True)
    time.sleep(30)
except KeyboardInterrupt:
    print(pool.next_result(10).task, len(pool.events()), flush=True)
    pool.close()
"""


def driver(seconds):
    """A driver in a process group of its own with busy workers; its process, store and the processes it started."""
    path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(seconds)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, env={**os.environ, "PYTHONPATH": path}, preexec_fn=heed_interrupts,
    )  # fmt: skip
    folder, *pids = process.stdout.readline().split()
    return process, Path(folder), [int(pid) for pid in pids]


def test_nothing_survives_a_killed_driver():
    process, folder, pids = driver(60)
    assert len(pids) == 5
    assert not gone(pids, 0)
    process.kill()
    process.communicate()
    assert gone(pids, 1.5)
    Store.create().close()
    assert not folder.exists()


def test_a_fork_server_outlives_sigterm_and_workers_do_not():
    with local_pool(1) as pool:
        assert one(pool, task(1)).task == 1
        server = forkserver._forkserver._forkserver_pid
        os.kill(server, signal.SIGTERM)
        os.kill(pool._slots[0].rollout.pid, signal.SIGTERM)
        assert one(pool, task(2)).task == 2
        assert forkserver._forkserver._forkserver_pid == server
        assert ["SIGTERM" in event.message for event in pool.events()] == [True]


def test_ctrl_c_goes_to_the_driver_alone():
    process, folder, pids = driver(1)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert out.split() == ["4", "0"]
    assert err == ""
    assert process.returncode == 0
    assert gone(pids, 1)
    assert not folder.exists()


def kill_server(times, pause):
    """Kill the fork server again and again, in a thread; the pids that were killed."""
    killed = []

    def act():
        while len(killed) < times:
            if (pid := forkserver._forkserver._forkserver_pid) and pid not in killed:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)
            time.sleep(pause)

    thread = threading.Thread(target=act)
    thread.start()
    return killed, thread


def test_a_fork_server_that_is_killed_while_workers_start_is_started_anew():
    killed, thread = kill_server(times=3, pause=0.3)
    with local_pool(3) as pool:
        pool.submit(task(number) for number in range(12))
        assert sorted(results(pool, 12)) == list(range(12))
        thread.join()
        pool.submit([task(20)])
        assert list(results(pool, 1)) == [20]
    assert len(set(killed)) == 3


@pytest.mark.slow
def test_no_task_is_blamed_for_the_death_of_the_fork_server():
    with local_pool(1) as pool:
        one(pool, task(1))
        pool.submit([task(2, "sleep", {"seconds": 3.0})])
        killed, thread = kill_server(times=4, pause=1.5)
        assert list(results(pool, 1)) == [2]
        thread.join()
        events = [(event.event, event.message) for event in pool.events()]
    assert {event for event, _ in events} == {"fork server died"}, events
    assert len(killed) == 4


def test_a_worker_over_its_memory_is_replaced():
    with local_pool(1, worker_memory=300 << 20) as pool:
        pool.submit(task(number, "hoard", {"mib": 60, "keep": True}) for number in range(8))
        assert sorted(results(pool, 8)) == list(range(8))
        messages = [event.message for event in pool.events()]
        assert sum("using more memory than --worker-memory allows" in message for message in messages) >= 1
        pool.submit([task(20, "hoard", {"mib": 600})])
        with pytest.raises(TaskError, match=r"task 20 .* has ended 3 workers, the last by using more memory than"):
            results(pool, 1)


def test_a_task_of_this_process_gives_way_and_runs_again():
    with local_pool(0) as pool:
        pool.submit([task(1, "sleep_in_parts", {"seconds": 20.0})])
        threading.Timer(0.3, pool.interrupt).start()
        begun = time.monotonic()
        assert pool.next_result() is None
        assert time.monotonic() - begun < 2.0
        assert [task.id for task in pool.running().values()] == [1]
        pool.reset()
        assert one(pool, task(2)).task == 2
