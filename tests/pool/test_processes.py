"""Worker processes: what they see, what runs when, and what happens when one of them dies or hangs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from multiprocess import forkserver

from erlbench.errors import TaskError
from erlbench.pool import local_pool
from erlbench.pool.processes import OVER_MEMORY, _in_words

from .helpers import gone, one, results, task

MODULE = """
import gymnasium
gymnasium.register("Mine-v0", "gymnasium.envs.classic_control:PendulumEnv", max_episode_steps=10)
"""

# -- what a worker sees -----------------------------------------------------------------------------------------------


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


def test_files_of_the_current_folder_do_not_take_the_place_of_libraries(tmp_path):
    for name in ("numpy", "random", "erlbench", "multiprocess"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported from the current folder')")
    (tmp_path / "mine.py").write_text(MODULE)
    words = ["run", "--algo", "cem", "--env", "mine:Mine-v0", "--total-timesteps", "100", "--processes", "1"]
    program = Path(sys.executable).with_name("erlbench")
    done = subprocess.run([program, *words], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, "current folder" in done.stdout + done.stderr) == (0, False), done.stderr
    assert list(tmp_path.glob("results/*/cem/seed-000/eval.csv"))


def test_a_gradient_worker_has_torch_with_one_thread_beside_a_rollout_worker_without():
    with local_pool(1) as pool:
        pool.submit([task(1, "surroundings", gradient=True), task(2, "surroundings"), task(3, gradient=True)])
        found = results(pool, 3)
    assert found[1].values["torch_threads"] == 1
    assert found[1].values["device"] == "cpu"
    assert "torch" not in found[2].values["modules"]
    assert found[1].values["pid"] != found[2].values["pid"]
    assert {result.process for result in found.values()} == {0}


def test_auto_is_resolved_by_the_first_gradient_worker():
    with local_pool(1, device="auto") as pool:
        device = one(pool, task(1, "surroundings", gradient=True)).values["device"]
        assert pool.device == device != "auto"


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


def test_what_cannot_be_sent_is_an_error_of_the_task():
    with local_pool(1) as pool:
        pool.submit([task(1, "wrong", {"error": "pickle"})])
        with pytest.raises(TaskError) as caught:
            pool.next_result(30)
        assert caught.value.task == 1
        pool.submit([task(2, settings={"function": lambda: None})])
        with pytest.raises(TaskError) as caught:
            pool.next_result(30)
        assert caught.value.task == 2
        assert one(pool, task(3)).task == 3


# -- deaths -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("how", "told"), [("signal", "signal 9 (SIGKILL)"), ("exit", "exit code 3")])
def test_a_task_whose_worker_died_runs_again_with_the_same_outcome(tmp_path, how, told):
    with local_pool(1) as pool:
        found = one(pool, task(1, "die", {"log": str(tmp_path / "log"), "times": 2, "how": how}))
        array = np.array(pool.store.get(found.arrays["array"]))
        events = pool.events()
        assert pool.events() == []
    with local_pool(0) as pool:
        np.testing.assert_array_equal(array, pool.store.get(one(pool, task(1)).arrays["array"]))
    assert [event.event for event in events] == ["worker died"] * 2
    assert all("task 1 (test)" in event.message and told in event.message for event in events)


def test_a_task_that_kills_three_workers_fails(tmp_path):
    with local_pool(2) as pool:
        pool.submit([task(1, "die", {"log": str(tmp_path / "log"), "times": 99, "how": "signal"}), task(2), task(3)])
        with pytest.raises(TaskError, match=r"task 1 \(test\) .*SIGKILL") as caught:
            results(pool, 3)
        assert (caught.value.task, caught.value.details.count("SIGKILL")) == (1, 3)
        pool.reset()
        assert one(pool, task(4)).task == 4
    assert (tmp_path / "log").read_text() == "xxx"


def test_a_hung_worker_is_killed_and_its_task_runs_again(tmp_path):
    with local_pool(1, task_timeout=1.5) as pool:  # in which the same task must end, too, when it does not hang
        pool.submit([task(1, "die", {"log": str(tmp_path / "log"), "times": 1, "how": "hang"})])
        assert results(pool, 1)[1].values.keys() == {"sum"}
        (event,) = pool.events()
    assert event.event == "task hung"
    assert "task 1 (test)" in event.message
    assert "1.5 s" in event.message


def test_the_fork_server_may_die():
    with local_pool(1) as pool:
        pids = {one(pool, task(1, "surroundings")).values["pid"]}
        os.kill(forkserver._forkserver._forkserver_pid, signal.SIGKILL)
        pids |= {one(pool, task(task_id, "surroundings")).values["pid"] for task_id in (2, 3)}
        one(pool, task(4, "sleep", {"seconds": 0.1}))
        pids |= {one(pool, task(5, "surroundings")).values["pid"]}
        assert len(pool.events()) == 1
    assert gone(pids, 0)


def test_a_worker_over_its_memory_is_replaced():
    with local_pool(1, worker_memory=300 << 20) as pool:
        pool.submit(task(number, "hoard", {"mib": 60, "keep": True}) for number in range(8))
        assert sorted(results(pool, 8)) == list(range(8))
        messages = [event.message for event in pool.events()]
        assert sum(_in_words(OVER_MEMORY) in message for message in messages) >= 1
        pool.submit([task(20, "hoard", {"mib": 600})])
        with pytest.raises(TaskError) as caught:
            results(pool, 1)
        assert (caught.value.task, caught.value.details.count(_in_words(OVER_MEMORY))) == (20, 3)
