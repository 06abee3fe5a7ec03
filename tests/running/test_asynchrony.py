"""What train.csv says of asynchrony, by hand."""

import pytest

from erlbench.algorithms.base import Counters
from erlbench.records.schema import TaskRow, row_of
from erlbench.running.rows import Asynchrony
from erlbench.work.tasks import Result


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
