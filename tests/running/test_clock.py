"""The two clocks: nothing is taken out of the training time, and interruptions are in neither."""

from erlbench.running.rows import Clock


class Moment:
    def __init__(self, seconds):
        self.seconds = seconds

    def __call__(self):
        return self.seconds


def test_the_training_time_ends_with_the_training_and_the_total_time_goes_on():
    moment = Moment(100.0)
    clock = Clock(moment)
    moment.seconds = 104.0  # workers start
    clock.start()
    moment.seconds += 3.0
    clock.tick()
    assert (clock.total, clock.train) == (3.0, 3.0)
    moment.seconds += 2.0
    clock.end_training()
    moment.seconds += 10.0
    clock.tick()
    assert (clock.total, clock.train) == (15.0, 5.0)
    assert clock.since_start(103.5) == -0.5


def test_the_time_between_two_starts_does_not_count():
    for trained in (False, True):
        moment = Moment(10.0)
        clock = Clock(moment)
        moment.seconds += 5.0
        if trained:
            clock.end_training()
        clock.tick()
        moment.seconds = 1000.0
        again = Clock(moment)
        again.restore(clock.state())
        moment.seconds += 2.0
        again.tick()
        assert (again.total, again.train) == (7.0, 5.0 if trained else 7.0)
