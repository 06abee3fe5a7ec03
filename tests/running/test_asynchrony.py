"""What train.csv says of asynchrony, by hand and beside tasks.csv of a run."""

import numpy as np
import pytest

from erlbench.algorithms.base import Counters
from erlbench.records.schema import TaskRow, row_of
from erlbench.running.rows import Asynchrony
from erlbench.work.tasks import Result
from tests.runs import csv_rows, make_cell, run

SPREADS = ("staleness", "critic_lag")


def test_asynchrony_by_hand_of_five_tasks():
    seen = Asynchrony()
    for number in range(5):
        result = Result(number, {}, {}, start=0.1 * number, end=0.1 * number + 2.0, process=0)
        row = row_of(TaskRow, {"timesteps": 10, "staleness": number, "critic_lag": 10 * number})
        seen.add(row, result, ready=0.0)
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
    for number, kind in enumerate(("es", "mean", "random", "rl", "validation", "unperturbed")):
        row = row_of(TaskRow, {"timesteps": 10, "kind": kind, "staleness": number, "critic_lag": 10 * number})
        seen.add(row, Result(number, {}, {}, start=1.0, end=2.0, process=0), ready=0.0)
    row = seen.row(Counters(timesteps=60), 12.0)
    assert (row["staleness_median"], row["critic_lag_median"], row["queueing_median_s"]) == (1.5, 15.0, 1.0)


@pytest.mark.slow
def test_rows_are_those_of_the_tasks(tmp_path):
    """All algorithms write them by the same code; AES-RL's individuals are late, and some of its tasks play nothing."""
    cell = make_cell("aes-rl", tmp_path, steps=700, settings={"start_timesteps": 200}, workers=3)
    assert run(cell, processes=2) == 0
    tasks, train = (csv_rows(cell.directory / name) for name in ("tasks.csv", "train.csv"))
    training = [task for task in tasks if task["kind"] != "evaluation"]
    played = [task for task in training if int(task["timesteps"])]
    assert max(int(task["staleness"]) for task in played) > 1
    last, end = train[-1], float(train[-1]["train_time_s"])
    told = [task for task in training if float(task["end_s"]) <= end]
    busy = sum(float(task["end_s"]) - float(task["start_s"]) for task in told)
    assert float(last["busy_processes"]) == pytest.approx(busy / end, rel=0.1)
    assert float(last["critic_per_step"]) == int(last["critic_updates"]) / int(last["timesteps"])
    individuals = [task for task in played if task["kind"] in ("es", "rl")]
    for name in SPREADS:  # the greatest of all rows' 90 % quantiles is between the median and the greatest of all tasks
        most = max(float(row[f"{name}_90"]) for row in train if row[f"{name}_90"])
        values = [int(task[name]) for task in individuals]
        assert np.median(values) <= most <= max(values)
