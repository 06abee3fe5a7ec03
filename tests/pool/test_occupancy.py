"""Which cores are idle, as a pool's processes tell each other."""

from __future__ import annotations

import pytest

from erlbench.pool.occupancy import Occupancy, SecondCore


@pytest.fixture
def three(tmp_path, monkeypatch):
    """A pool of three slots on two cores: the driver's side and the workers'."""
    monkeypatch.setattr("erlbench.pool.occupancy.cores", lambda: 2)
    occupancy = Occupancy(tmp_path, 3)
    yield occupancy, [SecondCore(occupancy.path, slot) for slot in range(3)]
    occupancy.close()
    assert not occupancy.path.exists()


def test_a_core_is_idle_until_as_many_slots_work_as_there_are_cores(three):
    occupancy, (first, *_) = three
    occupancy.begin(0)
    assert first.idle()
    occupancy.begin(2)
    assert not first.idle()
    assert not first.take()
    occupancy.end(2)
    assert first.idle()


def test_one_who_takes_a_core_keeps_it_from_others(three):
    occupancy, (first, second, _) = three
    occupancy.begin(0)
    assert first.take()
    assert not second.idle()
    assert not second.take()
    first.give_back()
    assert second.take()


def test_a_core_comes_back_from_a_worker_that_is_gone(three):
    occupancy, (first, second, _) = three
    occupancy.begin(0)
    assert first.take()
    occupancy.end(0)
    assert second.take()
    second.give_back()
    assert second.idle()


def test_how_long_it_was_had_is_told_once(three, monkeypatch):
    now = [10.0]
    monkeypatch.setattr("erlbench.pool.occupancy.time.monotonic", lambda: now[0])
    occupancy, (first, second, _) = three
    occupancy.begin(0)
    for seconds in (2.0, 0.5):
        assert first.take()
        now[0] += seconds
        first.give_back()
        now[0] += 5.0
    assert (first.held(), first.held(), second.held()) == (2.5, 0.0, 0.0)
