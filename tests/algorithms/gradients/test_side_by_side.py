"""Works shared with a second process: they overlap, see the same memory, and neither process outlives the other."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
import weakref

import pytest
import torch

from erlbench.algorithms.gradients.learners import arithmetic
from erlbench.algorithms.gradients.side_by_side import SharedMemory, TwoProcesses, in_turn


def shared(*shape):
    with SharedMemory():
        return torch.zeros(*shape)


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_in_turn_keeps_the_order():
    done = []
    in_turn([lambda: done.append(1), lambda: done.append(2)])
    assert done == [1, 2]


def test_both_work_at_the_same_time_again_and_again():
    here, there = shared(1), shared(1)

    def meet(mine, other):
        mine += 1
        deadline = time.monotonic() + 10
        while other < mine and time.monotonic() < deadline:
            pass
        assert other >= mine

    works = [lambda: meet(here, there), lambda: meet(there, here)]
    together = TwoProcesses(works[1:], arithmetic())
    for _ in range(50):
        together(works)
    assert (here.item(), there.item()) == (50, 50)
    together.close()


def test_the_other_sleeps_and_wakes():
    found = shared(1)
    works = [lambda: None, lambda: found.add_(1)]
    together = TwoProcesses(works[1:], arithmetic())
    time.sleep(0.3)
    together(works)
    assert found.item() == 1
    together.close()


@pytest.mark.parametrize("place", [0, 1])
def test_an_error_comes_back_when_both_have_ended(place):
    done, error = shared(2), (ValueError, RuntimeError)[place]

    def fail():
        raise ValueError("no such luck")

    def one(index):
        time.sleep(0.05)
        done[index] += 1

    good = [lambda: one(0), lambda: one(1)]
    bad = [fail if index == place else good[index] for index in range(2)]
    together = TwoProcesses([good[1], bad[1]], arithmetic())
    with pytest.raises(error, match="no such luck"):
        together(bad)
    assert done.tolist() == [float(place == 1), float(place == 0)]
    together(good)
    assert done.sum().item() == 3
    together.close()


def test_the_other_process_has_the_arithmetic_of_this_one():
    """Denormal numbers are zero in both, or their results would differ."""
    found = shared(2)
    works = [
        lambda place=place: found[place].copy_((torch.full((64,), 1.2e-38) * 0.5).count_nonzero()) for place in (0, 1)
    ]
    together = TwoProcesses(works[1:], arithmetic())
    with arithmetic():
        together(works)
    assert found.tolist() == [0, 0]
    together(works)
    assert found.tolist() == [64, 0]
    together.close()


def test_it_ends_with_its_object():
    together = TwoProcesses([], arithmetic())
    pid, gone = together.pid, weakref.ref(together)
    assert alive(pid)
    del together
    gc.collect()
    assert gone() is None
    assert not alive(pid)


PROGRAM = """
import os, signal, time
from erlbench.algorithms.gradients.learners import arithmetic
from erlbench.algorithms.gradients.side_by_side import TwoProcesses
works = [lambda: time.sleep(1), lambda: {work}]
together = TwoProcesses(works[1:], arithmetic())
print(together.pid, flush=True)
together(works)
time.sleep(60)
"""


def test_it_ends_with_a_process_that_is_killed():
    with subprocess.Popen([sys.executable, "-c", PROGRAM.format(work="None")], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        assert alive(pid)
        process.kill()
    deadline = time.monotonic() + 10
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not alive(pid)


def test_a_process_ends_whose_other_is_killed():
    """A pool runs the tasks of a worker that died again."""
    code = PROGRAM.format(work="os.kill(os.getpid(), signal.SIGKILL)")
    process = subprocess.run([sys.executable, "-c", code], timeout=30, stdout=subprocess.PIPE)
    assert process.returncode == -signal.SIGKILL


def test_shared_memory_holds_what_is_made_and_nothing_else():
    given = torch.arange(3)
    with SharedMemory():
        made = [torch.zeros(2, 3), torch.zeros_like(given), torch.ones_like(given), given.new_zeros(4), torch.zeros(0)]
    assert [tensor.tolist() for tensor in made] == [[[0.0] * 3] * 2, [0, 0, 0], [1, 1, 1], [0] * 4, []]
    assert made[1].dtype == given.dtype
    pid = os.fork()
    if not pid:
        for tensor in (*made, given):
            tensor += 5
        os._exit(0)
    os.waitpid(pid, 0)
    assert made[0].tolist() == [[5.0] * 3] * 2
    assert made[3].tolist() == [5] * 4
    assert given.tolist() == [0, 1, 2]
