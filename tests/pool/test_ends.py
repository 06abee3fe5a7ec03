"""Worker processes end with their pool and with their driver, whatever ends it, and so does the fork server."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from multiprocess import forkserver

from erlbench.errors import UsageError
from erlbench.pool.separate_process import run_separately
from tests.calls import python
from tests.processes import alive, kill, wait_for
from tests.runs import heed_interrupts

from .helpers import local_pool, one, open_pool, results, task

ROOT = Path(__file__).parents[2]


def test_reset_and_close_end_the_workers_at_once():
    pool = open_pool(2)
    for number, end in ((1, pool.reset), (4, pool.close)):
        pid = one(pool, task(number, "surroundings")).values["pid"]
        pool.submit([task(number + 1, "busy"), task(number + 2, "busy", gradient=True)])
        begin = time.monotonic()
        end()
        assert time.monotonic() - begin < 2  # the tasks would never end
        assert not alive([pid])


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


# It ends itself where it hangs, with a traceback that says where. One long sleep could begin just after the signal.
DRIVER = """
import faulthandler, sys, time
from multiprocess import forkserver, resource_tracker
from erlbench.errors import UsageError
from erlbench.pool.separate_process import run_separately
from erlbench.work.tasks import Task
from tests.pool.helpers import local_pool, open_pool

functions = "tests.pool.functions:"
pool = open_pool(3)
pool.submit([Task(1, "test", functions + "draw", (1,), gradient=True)])
pool.next_result()
pool.submit([
    Task(2, "test", functions + "busy", (1,), gradient=True), Task(3, "test", functions + "busy", (1,)),
    Task(4, "test", functions + "sleep", (1,), {"seconds": 1.0}),
])
pids = [worker.process.pid for worker in pool._workers.values()]
pids += [forkserver._forkserver._forkserver_pid, resource_tracker._resource_tracker._pid]
faulthandler.dump_traceback_later(15, exit=True)
try:
    print(pool.store.folder, *pids, flush=True)
    while True:
        time.sleep(0.1)
except KeyboardInterrupt:
    print(pool.next_result(10).task, len(pool.events()), flush=True)
    pool.close()
"""


# Two cells at once, as by `--jobs 2`: each thread has a pool, and one of them has started the fork server. A worker of
# each holds Python's lock, another one is stopped. A third pool's thread has ended before.
STUCK = """
import os, signal, sys, threading, time
from multiprocess import forkserver, resource_tracker
from erlbench.errors import UsageError
from erlbench.pool.separate_process import run_separately
from erlbench.work.tasks import Task
from tests.pool.helpers import local_pool, open_pool

functions = "tests.pool.functions:"
pids, ready = [], threading.Barrier(3)

def brief():
    with local_pool(1) as pool:
        pool.submit([Task(1, "test", functions + "draw", (1,))])
        pool.next_result(60)

def cell():
    pool = open_pool(3)
    pool.submit([Task(index, "test", functions + "sleep", (1,), {"seconds": 0.3}) for index in (1, 2, 3)])
    for _ in range(3):
        pool.next_result(60)
    pids.extend(worker.process.pid for worker in pool._workers.values())
    pool.submit([Task(index, "test", functions + "hold_lock", (1,)) for index in (4, 5)])
    time.sleep(0.3)
    stopped = next(worker for worker in pool._workers.values() if not worker.tasks)
    os.kill(stopped.process.pid, signal.SIGSTOP)
    ready.wait()
    assert not pool.events()
    time.sleep(600)

first = threading.Thread(target=brief)
first.start()
first.join()
server = forkserver._forkserver._forkserver_pid
for _ in range(2):
    threading.Thread(target=cell, daemon=True).start()
ready.wait()
assert forkserver._forkserver._forkserver_pid == server  # it outlives the thread that started it
print(server, resource_tracker._resource_tracker._pid, *pids, flush=True)
time.sleep(600)
"""


@pytest.mark.usefixtures("temporary_folder")
def test_nothing_survives_a_killed_driver_whose_workers_are_stuck():
    process = subprocess.Popen([sys.executable, "-c", STUCK], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    pids = [int(pid) for pid in process.stdout.readline().split()]
    try:
        assert len(pids) == 8
        process.kill()
        wait_for(lambda: not alive(pids), 5)
    finally:
        for pid in pids:
            kill(pid)
        process.communicate()


def test_a_fork_server_outlives_sigterm_and_workers_do_not():
    with local_pool(1) as pool:
        assert one(pool, task(1)).task == 1
        server = forkserver._forkserver._forkserver_pid
        os.kill(server, signal.SIGTERM)
        os.kill(pool._workers[0, False].process.pid, signal.SIGTERM)
        assert one(pool, task(2)).task == 2
        assert forkserver._forkserver._forkserver_pid == server
        assert ["SIGTERM" in event.message for event in pool.events()] == [True]


def test_ctrl_c_goes_to_the_driver_alone():
    process = subprocess.Popen(
        [sys.executable, "-c", DRIVER], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, cwd=ROOT, preexec_fn=heed_interrupts,
    )  # fmt: skip
    folder, *pids = process.stdout.readline().split()
    os.killpg(process.pid, signal.SIGINT)
    process.wait(20)
    wait_for(lambda: not alive([*map(int, pids)]), 10)  # they hold the ends of the pipes, too
    out, err = process.communicate()
    assert (process.returncode, out, err) == (0, "4 0\n", "")
    assert not Path(folder).exists()


@pytest.mark.parametrize(
    ("pause", "tasks", "seconds"), [(0.3, 12, 0.2), pytest.param(1.5, 1, 3.0, marks=pytest.mark.slow)]
)
def test_a_fork_server_that_is_killed_is_started_anew_and_no_task_is_blamed(pause, tasks, seconds):
    """While workers start, and while they work."""
    killed, ended = [], threading.Event()

    def act():
        while len(killed) < 3 and not ended.wait(pause):
            if (pid := forkserver._forkserver._forkserver_pid) and pid not in killed:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)

    thread = threading.Thread(target=act)
    with local_pool(3) as pool:
        one(pool, task(50))
        thread.start()
        try:
            pool.submit(task(number, "sleep", {"seconds": seconds}) for number in range(tasks))
            assert sorted(results(pool, tasks)) == list(range(tasks))
            while len(killed) < 3:  # unused, nobody starts it anew
                assert one(pool, task(30)).task == 30
        finally:
            ended.set()
            thread.join()
        assert one(pool, task(20)).task == 20
        assert {event.event for event in pool.events()} == {"fork server died"}


def test_a_function_apart_that_gives_no_value_is_an_error():
    for seconds, end, given, what in (
        (60.0, sys.exit, 3, "SystemExit: 3"), (60.0, os._exit, 3, "exit code 3"), (0.2, time.sleep, 60, "no end"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=what):
            run_separately(end, given, seconds=seconds)


def sum_of_a_pool():
    with local_pool(1) as pool:
        return one(pool, task(1)).values["sum"]


def test_a_function_apart_gives_its_value_and_may_start_processes():
    expected = sum_of_a_pool()
    assert run_separately(sum_of_a_pool, seconds=60.0) == expected


def test_a_temporary_folder_may_have_a_long_name_and_nothing_stays_in_it(tmp_path):
    folder = tmp_path / ("x" * 90)
    folder.mkdir()
    program = "from tests.pool.helpers import *\nwith local_pool(1) as pool: print(one(pool, task(1)).task)"
    done = python("-c", program, cwd=ROOT, env=os.environ | {"TMPDIR": str(folder)})
    assert (done.stdout, [*folder.iterdir()]) == ("1\n", []), done.stderr
