"""Every program can be recorded once and replayed: no operation allocates, branches on data, or waits for a device.

This is what a CUDA graph asks of a program. `Recorder` is an executor that asks the same of it on a CPU. It runs each
operation once and notes the calls of PyTorch's and numpy's functions with their arguments. It refuses calls that return
new memory or a Python number. From then on it repeats the calls alone.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from erlbench.algorithms.critic import critic_spec, initial_critic
from erlbench.algorithms.ddpg import initial_learner as initial_ddpg
from erlbench.algorithms.gradients.learners.blocks import ActorBlock, CriticBlock, SoftActorBlock, SoftCriticBlock
from erlbench.algorithms.gradients.learners.ddpg import DDPGLearner
from erlbench.algorithms.gradients.learners.minibatches import arithmetic
from erlbench.algorithms.gradients.learners.sac import SACLearner
from erlbench.algorithms.gradients.learners.td3 import TD3Learner
from erlbench.algorithms.gradients.programs.program import InTurn, Program, alone
from erlbench.algorithms.gradients.updates import make_updates
from erlbench.algorithms.sac import initial_learner as initial_sac
from erlbench.algorithms.td3 import initial_learner as initial_td3
from erlbench.algorithms.update_settings import ActorUpdate, CriticUpdate, DDPGUpdate, SACUpdate, TD3Update
from erlbench.policy import PolicySpec, initial_policy

VIEWS = ("aten.view", "aten.t.", "aten.transpose", "aten.slice", "aten.select", "aten.unsqueeze", "aten.detach")
WRITERS = (np.dot, np.matmul, np.tanh)  # with `out`


class NotRecordable(Exception):
    """An operation that a recording could not repeat."""


class Calls(TorchDispatchMode):
    """Notes the calls of PyTorch's functions; refuses those whose results are no memory that was there before."""

    def __init__(self, calls):
        super().__init__()
        self._calls = calls

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        before = {place(x) for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)}
        found = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(found):
            if isinstance(leaf, torch.Tensor):
                if place(leaf) not in before:
                    raise NotRecordable(f"{func} allocates")
            elif leaf is not None:
                raise NotRecordable(f"{func} returns {leaf!r} to Python")
        if not str(func).startswith(VIEWS):
            self._calls.append(partial(func, *args, **(kwargs or {})))
        return found


def place(tensor):
    """Where a tensor's memory begins."""
    return tensor.untyped_storage().data_ptr()


class Recorder:
    """An executor that records a program when it first runs it, and then repeats the calls."""

    def __init__(self):
        self.recorded = {}

    def run(self, program):
        if id(program) not in self.recorded:
            self.recorded[id(program)] = [call for stage in program.one for lane in stage for call in record(lane)]
            return
        for call in self.recorded[id(program)]:
            call()


def record(lane):
    calls = []
    for operation in lane:
        if getattr(operation, "func", None) in WRITERS:
            assert isinstance(operation.keywords["out"], np.ndarray)
            operation()
            calls.append(operation)
            continue
        before = len(calls)
        with Calls(calls):
            operation()
        assert len(calls) == before + 1, f"{operation} is {len(calls) - before} calls"
    return calls


POLICY = PolicySpec((5, 24, 16, 2), "tanh", (-1.0,) * 2, (1.0,) * 2)
SOFT = PolicySpec((5, 24, 16, 2), "relu", (-1.0,) * 2, (1.0,) * 2, stochastic=True)
PLAIN = PolicySpec((5, 24, 16, 2), "relu", (-1.0,) * 2, (1.0,) * 2)
TWINS, ONE = critic_spec(POLICY, (24, 16), "leaky-relu"), critic_spec(POLICY, (24, 16), "relu", 1)
BATCH = 16


def td3():
    learner = TD3Learner(TD3Update(POLICY, TWINS, BATCH, 1e-3, 0.99, 0.005, 0.2, 0.5, 2), "cpu")
    learner.load(initial_td3(POLICY, TWINS, (1,)), 0, 0)
    return learner, lambda: learner.state


def ddpg(clip=0.1):
    learner = DDPGLearner(DDPGUpdate(POLICY, ONE, BATCH, 1e-3, 1e-3, 1e-2, clip, 0.99, 0.005), "cpu")
    learner.load(initial_ddpg(POLICY, ONE, None, (1,)), 0, 0)
    return learner, lambda: learner.state


def sac(temperature=None, value_network=False):
    update = SACUpdate(PLAIN, TWINS, BATCH, 1e-3, 0.99, 0.005, 2.0, temperature, -2.0, value_network)
    learner = SACLearner(update, "cpu")
    learner.load(initial_sac(PLAIN, TWINS, value_network, (1,)), 0, 0)
    return learner, lambda: learner.state


def critics(kind, policy, noise):
    learner = kind(CriticUpdate(policy, TWINS, BATCH, 1e-3, 0.99, 0.005, noise, 0.5, 0.2), "cpu")
    learner.load(initial_critic(TWINS, (1,)), initial_policy(policy, (2,)), 0)
    return learner, lambda: learner.critics.state


def actor(kind, policy):
    learner = kind(ActorUpdate(policy, TWINS, BATCH, 1e-3, 0.2), "cpu")
    learner.load(initial_policy(policy, (2,)), initial_critic(TWINS, (1,)))
    return learner, lambda: learner._state


LEARNERS = {
    "td3": td3,
    "ddpg": ddpg,
    "ddpg, unbounded": partial(ddpg, None),
    "sac": sac,
    "sac, fixed temperature": partial(sac, 0.2),
    "sac, value network": partial(sac, None, True),
    "critics": partial(critics, CriticBlock, POLICY, 0.2),
    "critics, no noise": partial(critics, CriticBlock, POLICY, 0.0),
    "critics, soft": partial(critics, SoftCriticBlock, SOFT, 0.0),
    "actor": partial(actor, ActorBlock, POLICY),
    "actor, soft": partial(actor, SoftActorBlock, SOFT),
}


class Source:
    """A hundred random transitions."""

    start, stop = 0, 100

    def __init__(self):
        random = np.random.default_rng(0)
        self._columns = [random.standard_normal((100, columns), dtype=np.float32) for columns in (5, 4, 5)]
        self._columns[1][:, -1] = np.arange(100) % 7 > 0

    def gather(self, indices, *arrays):
        for array, column in zip(arrays, self._columns):
            array[:] = column[indices]


@pytest.mark.parametrize("name", LEARNERS)
def test_a_recorded_program_repeats_every_bit(name):
    found = []
    for executor in (InTurn(), Recorder()):
        learner, state = LEARNERS[name]()
        begin = state().clone()
        with arithmetic():
            reports = make_updates(learner, Source(), np.random.default_rng(3), executor, range(20))
        assert not torch.equal(begin, state())
        found.append((state().numpy().tobytes(), reports.numpy().tobytes()))
    assert found[0] == found[1]
    assert len(executor.recorded) == len(learner.programs)


def program(*operations):
    return Program.build(lambda cores: [alone(*operations)])


def test_what_allocates_or_branches_is_refused():
    a, b = torch.ones(3), torch.zeros(3)
    for bad, message in (
        (lambda: a + 1, "allocates"),
        (lambda: a.sum(), "allocates"),
        (lambda: a[0].item(), "to Python"),
        (lambda: b.copy_(a) if a.any() else None, "allocates|to Python"),
    ):
        with pytest.raises(NotRecordable, match=message):
            Recorder().run(program(bad))
    good, recorder = program(partial(torch.add, a, 1, out=b), a.neg_), Recorder()
    recorder.run(good)
    recorder.run(good)
    assert (a.tolist(), b.tolist()) == ([1.0] * 3, [0.0] * 3)
