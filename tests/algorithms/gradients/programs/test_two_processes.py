"""Lanes shared with a second process: they overlap, see the same memory, and neither process outlives the other."""

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

from erlbench.algorithms.gradients.learners.minibatches import arithmetic
from erlbench.algorithms.gradients.learners.td3 import TD3Learner
from erlbench.algorithms.gradients.programs.program import InTurn, Program, alone
from erlbench.algorithms.gradients.programs.two_processes import SharedMemory, TwoProcesses
from erlbench.algorithms.td3 import initial_learner
from erlbench.algorithms.training.critic import critic_spec
from erlbench.algorithms.training.update_settings import TD3Update
from erlbench.policy import PolicySpec
from tests.processes import alive, wait_for


def shared(*shape):
    with SharedMemory():
        return torch.zeros(*shape)


def shared_stage(first, second):
    """A program of one stage with two lanes."""
    return Program.build(lambda cores: [[[first], [second]]])


def test_in_turn_keeps_the_order():
    done = []
    stages = [alone(lambda: done.append(0)), [[lambda: done.append(1)], [lambda: done.append(2)]]]
    InTurn().run(Program(stages, []))
    assert done == [0, 1, 2]


def test_stages_with_one_lane_run_here():
    found, here = shared(1), [0]
    program = Program([], [alone(lambda: here.append(1)), [[lambda: here.append(2)], [lambda: found.add_(1)]]])
    two = TwoProcesses([program], arithmetic())
    two.run(program)
    assert (here, found.item()) == ([0, 1, 2], 1)
    two.close()


def test_both_work_at_the_same_time_again_and_again():
    here, there = shared(1), shared(1)

    def meet(mine, other):
        mine += 1
        deadline = time.monotonic() + 10
        while other < mine and time.monotonic() < deadline:
            pass
        assert other >= mine

    program = shared_stage(lambda: meet(here, there), lambda: meet(there, here))
    two = TwoProcesses([program], arithmetic())
    for _ in range(50):
        two.run(program)
    assert (here.item(), there.item()) == (50, 50)
    two.close()


def test_it_is_late_when_its_lane_takes_much_longer_than_this_ones():
    """As it does where another program has its core."""
    late = shared_stage(lambda: None, lambda: time.sleep(0.05))
    punctual = shared_stage(lambda: time.sleep(0.5), lambda: None)
    two = TwoProcesses([late, punctual], arithmetic())
    for program, expected in ((late, True), (punctual, False)):
        two.run(program)
        assert two.late is expected
    two.close()


def test_the_other_sleeps_and_wakes():
    found = shared(1)
    program = shared_stage(lambda: None, lambda: found.add_(1))
    two = TwoProcesses([program], arithmetic())
    time.sleep(0.3)
    two.run(program)
    assert found.item() == 1
    two.close()


def test_a_number_in_memory_changes_in_both_processes():
    """The second Adam step of twin critics is in the other process."""
    policy = PolicySpec((5, 24, 16, 2), "tanh", (-1.0,) * 2, (1.0,) * 2)
    twins = critic_spec(policy, (24, 16), "leaky-relu")

    def learner(rate):
        with SharedMemory():
            made = TD3Learner(
                TD3Update(
                    policy,
                    twins,
                    16,
                    learning_rate=rate,
                    discount=0.99,
                    tau=0.005,
                    target_noise=0.2,
                    noise_clip=0.5,
                    policy_delay=2,
                ),
                "cpu",
            )
        made.load(initial_learner(policy, twins, (1,)), 0, 0)
        return made

    def updated(learner, executor):
        for program in learner.programs:
            executor.run(program)
        return learner.state.tolist()

    changed = learner(1e-3)
    two = TwoProcesses(changed.programs, arithmetic())
    changed.numbers["learning_rate"].fill_(1e-2)
    expected = updated(learner(1e-2), InTurn())
    assert updated(changed, two) == expected != updated(learner(1e-3), InTurn())
    two.close()


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
    good, bad = shared_stage(*good), shared_stage(*bad)
    two = TwoProcesses([good, bad], arithmetic())
    with pytest.raises(error, match="no such luck"):
        two.run(bad)
    assert done.tolist() == [float(place == 1), float(place == 0)]
    two.run(good)
    assert done.sum().item() == 3
    two.close()


def test_the_other_process_has_the_arithmetic_of_this_one():
    """Denormal numbers are zero in both, or their results would differ."""
    found = shared(2)
    works = [
        lambda place=place: found[place].copy_((torch.full((64,), 1.2e-38) * 0.5).count_nonzero()) for place in (0, 1)
    ]
    program = shared_stage(*works)
    two = TwoProcesses([program], arithmetic())
    with arithmetic():
        two.run(program)
    assert found.tolist() == [0, 0]
    two.run(program)
    assert found.tolist() == [64, 0]
    two.close()


def test_it_ends_with_its_object():
    two = TwoProcesses([], arithmetic())
    pid, gone = two.pid, weakref.ref(two)
    assert alive([pid])
    del two
    gc.collect()
    assert gone() is None
    assert not alive([pid])


PROGRAM = """
import ctypes, os, signal, time
from erlbench.algorithms.gradients.learners.minibatches import arithmetic
from erlbench.algorithms.gradients.programs.program import Program
from erlbench.algorithms.gradients.programs.two_processes import TwoProcesses
program = Program([], [[[lambda: time.sleep(1)], [lambda: {work}]]])
two = TwoProcesses([program], arithmetic())
print(two.pid, flush=True)
two.run(program)
time.sleep(60)
"""


@pytest.mark.parametrize("work", ["None", "ctypes.PyDLL(None).sleep(60)", "os.kill(os.getpid(), signal.SIGSTOP)"])
def test_it_ends_with_a_process_that_is_killed(work):
    with subprocess.Popen([sys.executable, "-c", PROGRAM.format(work=work)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        time.sleep(0.3)
        assert alive([pid])
        process.kill()
        wait_for(lambda: not alive([pid]), 10)


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
