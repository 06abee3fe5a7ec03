"""The two clocks, pauses (the whole run stood still; work, sleep and a held lock are none), and train.csv by hand."""

import math
import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from erlbench.algorithms.base import Counters
from erlbench.records.schema import TaskRow, make_row
from erlbench.running import rows
from erlbench.running.orders import Request
from erlbench.running.rows import Asynchrony, Clock, Pauses, task_row
from erlbench.work.tasks import Result, Task
from tests.calls import python
from tests.files import read_json
from tests.processes import lines, wait_for
from tests.runs import at_result, complete, csv_rows, make_cell
from tests.tables import cells

ROOT = Path(__file__).parents[2]
TASKS = (  # and the seconds of pauses in them
    ("end = time.monotonic() + 5\nwhile time.monotonic() < end: pass", 0),
    ("time.sleep(5)", 0),
    ("ctypes.PyDLL(None).usleep(5_000_000)", 0),  # with Python's lock
    ("os.system('(sleep 5; kill -CONT $PPID) &')\nos.kill(os.getpid(), signal.SIGSTOP)", 5),
)
PROGRAM = """
import ctypes, os, signal, time
from erlbench.running.rows import Pauses
pauses = Pauses()
time.sleep(1.2)
{task}
time.sleep(1.2)
print(sum(end - begin for begin, end in pauses.spans))
pauses.close()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("task", "seconds"), TASKS)
def test_a_long_task_is_no_pause_and_a_stop_is_one(task, seconds):
    assert float(python("-c", PROGRAM.format(task=task), cwd=ROOT).stdout) == pytest.approx(seconds, abs=1)


@pytest.mark.slow
def test_a_run_that_is_stopped_says_for_how_long(tmp_path):
    """The pause stays in the training time; eval.csv, status.json and events.csv have it."""
    words = "-m erlbench run --algo cem --env tests.environments:Sleeping-v0 --total-timesteps 1600 --eval-freq 400"
    words += " --eval-episodes 1 --processes 2 -q --out"
    process = subprocess.Popen([sys.executable, *words.split(), tmp_path], cwd=ROOT, start_new_session=True)
    folder = tmp_path / "tests.environments_Sleeping-v0" / "cem" / "seed-000"
    wait_for(lambda: lines(folder / "episodes.csv") > 4)
    os.killpg(process.pid, signal.SIGSTOP)
    time.sleep(5)
    os.killpg(process.pid, signal.SIGCONT)
    assert process.wait(60) == 0
    last = csv_rows(folder / "eval.csv")[-1]
    assert float(last["paused_s"]) == pytest.approx(5, abs=1)
    assert float(last["train_time_s"]) > 5 + 1600 * 0.005 / 2 - 1
    assert read_json(folder / "status.json")["paused_s"] == float(last["paused_s"])
    assert [row["event"] for row in csv_rows(folder / "events.csv")] == ["paused"]


@pytest.mark.parametrize("simulated", [False, True])
def test_pauses_are_written_once_each_and_simulated_time_does_not_pass_in_them(tmp_path, monkeypatch, simulated):
    cell = make_cell("cem", tmp_path, steps=300, simulated_time=simulated)

    def pause(run):
        now = time.monotonic()
        run.pauses.extend([(now, now + 3.0), (now, now + 4.0)])
        run.pool._note("lost", "a worker")

    at_result(monkeypatch, 3, pause)
    complete(cell)
    last = csv_rows(cell.directory / "eval.csv")[-1]
    assert float(last["paused_s"]) == pytest.approx(0 if simulated else 7)
    events = csv_rows(cell.directory / "events.csv")
    assert [row["event"] for row in events] == ["lost", "paused", "paused"]
    assert all(0 <= float(row["time_s"]) <= float(last["train_time_s"]) for row in events)


# Seconds of the clock from one look to the next, of the processor, without a core, and wakes.
LOOKS = """
0.0  | 0.0  | 0.0 | 0  | begin
1.3  | 0.0  | 0.0 | 0  | pause
1.15 | 0.0  | 0.0 | 0  | late
90.0 | 0.0  | 0.0 | 0  | pause
2.0  | 0.24 | 0.0 | 0  | pause
2.0  | 0.26 | 0.0 | 0  | work
2.0  | 0.0  | 0.9 | 0  | pause
2.0  | 0.0  | 1.1 | 0  | wait
2.0  | 0.0  | 0.0 | 20 | pause
2.0  | 0.0  | 0.0 | 21 | wake
"""


def test_a_late_look_is_a_pause_unless_something_worked_or_waited(monkeypatch):
    """A look comes every 0.2 s, so the pause began in the middle of them."""
    words = cells(LOOKS)
    looks = [*np.cumsum([[*map(float, row[:4])] for row in words], axis=0)]
    ends = [number for number, row in enumerate(words) if row[4] == "pause"]
    expected, left = [(looks[end - 1][0] + 0.1, looks[end][0]) for end in ends], looks[:]
    monkeypatch.setattr(rows, "_look", lambda: left.pop(0) if left else looks[-1])
    with closing(Pauses()) as pauses:
        wait_for(lambda: not left)
    assert np.array(pauses.spans) == pytest.approx(np.array(expected))


def test_the_training_time_ends_with_the_training_and_the_total_time_goes_on():
    """Nothing is taken out of them but the time between two starts; only pauses of the training count."""
    moment = [100.0]
    clock = Clock(lambda: moment[0])
    moment[0] = 104.0  # workers start
    clock.start()
    clock.pause(90.0, 105.0)  # begun before the clock
    moment[0] = 107.0
    clock.tick()
    assert (clock.total, clock.train, clock.since_start(103.5)) == (3.0, 3.0, -0.5)
    training = Clock(lambda: moment[0])
    training.restore(clock.state())
    moment[0] = 109.0
    for each in (clock, training):
        each.tick()
        assert (each.total, each.train, each.paused) == (5.0, 5.0, 1.0)
    clock.end_training()
    clock.pause(109.0, 119.0)
    moment[0] = 119.0
    clock.tick()
    moment[0] = 1000.0
    again = Clock(lambda: moment[0])
    again.restore(clock.state())
    moment[0] = 1002.0
    again.tick()
    assert (again.total, again.train, again.paused) == (17.0, 5.0, 1.0)


def test_asynchrony_by_hand_of_five_tasks():
    seen, task, now = Asynchrony(), Task(1, "es", "a:b", ()), Counters(generation=7, critic_updates=70)
    for number in range(5):
        result = Result(number, {"lengths": [10]}, {}, start=0.1 * number, end=0.1 * number + 2.0, process=0)
        row = task_row(task, result, Clock(lambda: 0.0), (Request(0.0, 7 - number, 70 - 10 * number), now))
        seen.add(row, result, ready=0.0)
    assert (row.timesteps, row.critic_updates, row.actor_updates) == (10, 0, 0)
    row = seen.row(Counters(timesteps=100, critic_updates=50, actor_updates=25), 4.0)
    assert row == pytest.approx({
        "staleness_median": 2, "staleness_90": 3.6, "critic_lag_median": 20, "critic_lag_90": 36,
        "queueing_median_s": 0.2, "queueing_90_s": 0.36, "critic_per_step": 0.5, "actor_per_step": 0.25,
        "busy_processes": 2.5,
    })  # fmt: skip
    later = seen.row(Counters(timesteps=200), 8.0)  # nothing was played since; what is busy goes on from the beginning
    assert (later["staleness_median"], later["queueing_90_s"], later["busy_processes"]) == (None, None, 1.25)


def test_the_means_own_episodes_have_no_staleness_and_queue_all_the_same():
    seen = Asynchrony()
    for number, kind in enumerate(("es", "mean", "random", "rl", "validation", "unperturbed", "critic")):
        row = make_row(
            TaskRow,
            {"timesteps": 10 * (kind != "critic"), "kind": kind, "staleness": number, "critic_lag": 10 * number},
        )
        seen.add(row, Result(number, {"returns": (1.0, math.nan)}, {}, start=1.0, end=2.0, process=0), ready=0.0)
    assert seen.nan_returns == 2
    row = seen.row(Counters(timesteps=60), 12.0)
    assert (row["staleness_median"], row["critic_lag_median"], row["queueing_median_s"]) == (1.5, 15.0, 1.0)
    assert seen.nan_returns == 0
