"""Two processes where a core is idle, and one for a while where the second process comes late."""

from __future__ import annotations

import pytest

from erlbench.algorithms.gradients.programs import where_idle as module
from erlbench.algorithms.gradients.programs.program import Program
from erlbench.algorithms.gradients.programs.where_idle import WhereIdle


class Core:
    """An idle core, until it is taken."""

    idle, taken = True, 0

    def take(self):
        self.taken += self.idle
        return self.idle

    def give_back(self):
        self.taken -= 1


class Pair:
    """In place of two processes: late whenever the list says so."""

    def __init__(self, programs, surroundings):
        self.late = False

    def run(self, program):
        for lane in program.two[0]:
            lane[0]()
        self.late = bool(LATE and LATE.pop(0))

    def close(self):
        pass


LATE: list[bool] = []


@pytest.fixture
def runs(monkeypatch):
    """A function that runs the program so many times and says where: 2 processes or 1."""
    monkeypatch.setattr(module, "TwoProcesses", Pair)
    LATE.clear()
    done: list[int] = []
    alone, shared = [[[lambda: done.append(1)]]], [[[lambda: done.append(2)], [lambda: None]]]
    program = Program(alone, shared)
    executor = WhereIdle([program], dict)
    executor.core = Core()

    def run(times):
        done.clear()
        for _ in range(times):
            executor.run(program)
        assert executor.core.taken == 0
        return list(done)

    return run, executor


def test_two_processes_while_a_core_is_idle(runs):
    run, executor = runs
    assert run(3) == [2, 2, 2]
    executor.core.idle = False
    assert run(3) == [1, 1, 1]


def test_a_late_process_is_left_out_for_longer_and_longer_until_it_is_punctual(runs):
    run, _ = runs
    LATE[:] = [True, True, True, False, True]
    assert run(17) == [2, 1, 1, 2, 1, 1, 1, 1, 2, *[1] * 8]
    assert run(2) == [2, 2]  # punctual, so the next pause is 8 again and not 16; then late
    assert run(9) == [*[1] * 8, 2]
    assert run(3) == [2, 2, 2]


def test_it_is_tried_again_after_so_many_programs_at_most(runs):
    run, _ = runs
    LATE[:] = [True] * 30
    run(5000)
    found = run(3 * module.LONGEST)
    assert 2 <= found.count(2) <= 3
