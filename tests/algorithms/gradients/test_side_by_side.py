"""Work in two threads: it overlaps, its errors come back, and the thread ends."""

from __future__ import annotations

import threading

import pytest
import torch

from erlbench.algorithms.gradients.learners import arithmetic
from erlbench.algorithms.gradients.side_by_side import in_turn, two_threads


def others():
    return [thread.name for thread in threading.enumerate() if thread.name == "side-by-side"]


def test_in_turn_keeps_the_order():
    done = []
    in_turn([lambda: done.append(1), lambda: done.append(2), lambda: done.append(threading.current_thread())])
    assert done == [1, 2, threading.current_thread()]


def test_two_threads_work_at_the_same_time_again_and_again():
    meeting, found = threading.Barrier(2, timeout=10), []
    with two_threads(arithmetic()) as together:
        for _ in range(50):
            together([meeting.wait, meeting.wait, lambda: found.append(threading.current_thread().name)])
        assert others()
    assert found == ["side-by-side"] * 50
    assert not others()


@pytest.mark.parametrize("place", [0, 1])
def test_an_error_comes_back_when_all_have_ended(place):
    done = []

    def fail():
        raise ValueError("no")

    works = [lambda: done.append(1), lambda: done.append(2)]
    works[place] = fail
    with two_threads(arithmetic()) as together:
        with pytest.raises(ValueError, match="no"):
            together(works)
        assert done == [2 - place]
        together([lambda: done.append(3), lambda: done.append(4)])
    assert sorted(done[1:]) == [3, 4]
    assert not others()


def test_the_second_thread_has_the_arithmetic_of_the_first():
    """Denormal numbers are zero in both, or their results would differ."""
    found = {}

    def halve(name):
        found[name] = (torch.full((64,), 1.2e-38) * torch.tensor(0.5)).count_nonzero().item()

    with two_threads(arithmetic()) as together:
        with arithmetic():
            together([lambda: halve("first"), lambda: halve("second")])
        together([lambda: halve("outside"), lambda: None])
    assert found == {"first": 0, "second": 0, "outside": 64}
