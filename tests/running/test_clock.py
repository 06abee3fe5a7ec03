"""The two clocks: evaluation's share is taken out of the training time, interruptions out of both."""

import pytest

from erlbench.running.clock import Clock
from erlbench.work.tasks import Counts, Task

TRAINING = Task(1, "es", "m:f", (0,), counts=Counts.TRAINING)
EVALUATION = Task(2, "evaluation", "m:f", (0,), counts=Counts.EVALUATION)


def test_evaluation_is_taken_out_by_its_share_of_the_busy_processes():
    moment = [100.0]
    clock = Clock(lambda: moment[0])
    for running, seconds in (([TRAINING, EVALUATION], 4.0), ([EVALUATION], 3.0), ([TRAINING], 2.0), ([], 1.0)):
        clock.tick(running)
        moment[0] += seconds
    clock.tick([])
    assert clock.total == pytest.approx(10.0)
    assert clock.train == pytest.approx(2.0 + 0.0 + 2.0 + 1.0)
    assert clock.since_start(103.5) == pytest.approx(3.5)


def test_the_time_between_two_starts_does_not_count():
    moment = [10.0]
    clock = Clock(lambda: moment[0])
    clock.tick([EVALUATION])
    moment[0] += 5.0
    clock.tick([])
    saved = clock.state()
    moment[0] = 1000.0
    again = Clock(lambda: moment[0])
    again.restore(saved)
    moment[0] += 2.0
    again.tick([])
    assert (again.total, again.train) == pytest.approx((7.0, 2.0))
