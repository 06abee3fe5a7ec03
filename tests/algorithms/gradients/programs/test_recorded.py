"""Every program can be recorded once and replayed: no operation allocates, branches on data, or waits for a device.

This is what a CUDA graph asks of a program (`CudaGraphs`). `Recorder` is an executor that asks the same of it on a
CPU. It runs each operation once and notes the calls of PyTorch's and numpy's functions with their arguments. It refuses
calls that return new memory or a Python number. From then on it repeats the calls alone.
"""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from erlbench.algorithms.gradients.crossq import CrossQActor, CrossQCritics, CrossQJoint
from erlbench.algorithms.gradients.learners.crossq import WARM
from erlbench.algorithms.gradients.learners.networks import FlatAdam
from erlbench.algorithms.gradients.minibatches import arithmetic
from erlbench.algorithms.gradients.programs.blocks import ActorProgram, CriticProgram
from erlbench.algorithms.gradients.programs.program import CudaGraphs, InTurn
from erlbench.algorithms.gradients.updates import make_updates
from erlbench.algorithms.training.critic import critic_spec, initial_critic, initial_soft_learner
from erlbench.algorithms.training.update_settings import ActorUpdate, CriticUpdate, CrossQUpdate, both_rates
from erlbench.policy import PolicySpec, initial_policy
from tests.algorithms.gradients.joint import JOINT
from tests.algorithms.test_stable_baselines3 import filled_memory
from tests.devices import DEVICE, on_a_gpu

VIEWS = ("aten.view", "aten.t.", "aten.transpose", "aten.slice", "aten.select", "aten.unsqueeze", "aten.detach")
WRITERS = (np.dot, np.matmul, np.tanh)  # with `out`


class NotRecordable(Exception):
    """An operation that a recording could not repeat."""


class Waits(TorchDispatchMode):
    """Refuses calls that give Python a number, for which a GPU must have ended."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if any(not isinstance(leaf, torch.Tensor | None) for leaf in tree_leaves(result)):
            raise NotRecordable(f"{func} returns {result!r} to Python")
        return result


class Calls(Waits):
    """Notes the calls of PyTorch's functions; refuses also those whose results are no memory that was there before."""

    def __init__(self, calls):
        super().__init__()
        self._calls = calls

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        before = places(args, kwargs)
        result = super().__torch_dispatch__(func, types, args, kwargs)
        if not places(result) <= before:
            raise NotRecordable(f"{func} allocates")
        if not str(func).startswith(VIEWS):
            self._calls.append(partial(func, *args, **(kwargs or {})))
        return result


def places(*values):
    """Where the memory of tensors begins."""
    return {leaf.untyped_storage().data_ptr() for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor)}


class Recorder:
    """An executor that records a program when it first runs it, and then repeats the calls."""

    def __init__(self):
        self.recorded = {}

    def run(self, program):
        if id(program) not in self.recorded:
            self.recorded[id(program)] = record(program)
            return
        for call in self.recorded[id(program)]:
            call()


def record(program):
    calls = []
    for operation in program:
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


POLICY = PolicySpec((3, 24, 16, 2), "tanh", (-1.0,) * 2, (1.0,) * 2)
SOFT = PolicySpec((3, 24, 16, 2), "relu", (-1.0,) * 2, (1.0,) * 2, stochastic=True)
PLAIN = PolicySpec((3, 24, 16, 2), "relu", (-1.0,) * 2, (1.0,) * 2)
TWINS = critic_spec(POLICY, (24, 16), "leaky-relu")
BATCH = 16


def critics(policy, noise):
    more = {"target_noise": noise, "noise_clip": 0.5, "temperature": 0.2}
    update = CriticUpdate(policy, TWINS, BATCH, learning_rate=1e-3, discount=0.99, tau=0.005, **more)
    learner = CriticProgram(update, DEVICE)
    initial = initial_critic(TWINS, (1,)), initial_policy(policy, (2,))
    return learner, learner.critics.state, lambda: learner.load(*initial, 0)


def actor(policy, kind=ActorProgram, twins=TWINS):
    learner = kind(ActorUpdate(policy, twins, BATCH, 1e-3, 0.2), DEVICE)
    initial = initial_policy(policy, (2,)), initial_critic(twins, (1,))
    return learner, learner._state, lambda: learner.load(*initial)


LEARNERS = {
    **{
        name: lambda name=name: JOINT[name]().begin()
        for name in ("td3, tanh, 2", "ddpg", "ddpg, clipped", "sac", "sac, fixed temperature", "sac, value network")
    },
    "critics": partial(critics, POLICY, 0.2),
    "critics, no noise": partial(critics, POLICY, 0.0),
    "critics, soft": partial(critics, SOFT, 0.0),
    "actor": partial(actor, POLICY),
    "actor, soft": partial(actor, SOFT),
}


NORMALISED, ENDING = replace(TWINS, normalised=True), WARM - 10  # updates before: the warm-up ends in the test


def crossq(temperature=None, norm=True):
    more = {"policy_delay": 3, "temperature": temperature, "target_entropy": -2.0, "actor_norm": norm}
    update = CrossQUpdate(PLAIN, NORMALISED, BATCH, **both_rates(1e-3), discount=0.99, **more)
    learner, initial = CrossQJoint(update, DEVICE), initial_soft_learner(PLAIN, NORMALISED, (1,), actor_norm=norm)
    return learner, learner.state, lambda: learner.load(initial, ENDING, WARM - 3)


def normalised_critics():
    more = {"target_noise": 0.0, "noise_clip": 0.0, "temperature": 0.2}
    update = CriticUpdate(SOFT, NORMALISED, BATCH, learning_rate=1e-3, discount=0.99, tau=0.0, **more)
    learner, initial = CrossQCritics(update, DEVICE), (initial_critic(NORMALISED, (1,)), initial_policy(SOFT, (2,)))
    return learner, learner.state, lambda: learner.load(*initial, ENDING)


AUTOGRAD = {
    "crossq": crossq,
    "crossq, fixed temperature, plain actor": partial(crossq, 0.2, False),
    "crossq, critics": normalised_critics,
    "crossq, actor": partial(actor, SOFT, CrossQActor, NORMALISED),
}


@pytest.fixture
def memory(context):
    return filled_memory(context, np.random.default_rng(0), 2)


def updated(memory, learner, state, begin, executor):
    """The bytes of the state, and of the losses, after twenty updates from the beginning."""
    begin()
    before = state.clone()
    with arithmetic():
        reports = make_updates(learner, memory, np.random.default_rng(3), executor, range(20))
    assert not torch.equal(before, state)
    return state.cpu().numpy().tobytes(), reports.cpu().numpy().tobytes()


@pytest.mark.parametrize("name", LEARNERS)
def test_a_recorded_program_repeats_every_bit(name, memory, monkeypatch):
    recorder, expected = Recorder(), updated(memory, *LEARNERS[name](), InTurn())
    learner, *more = LEARNERS[name]()
    assert updated(memory, learner, *more, recorder) == expected
    assert len(recorder.recorded) == len(learner.programs)
    monkeypatch.setattr(f"{__name__}.record", None)
    assert updated(memory, learner, *more, recorder) == expected, "recorded once, it goes on from any state"


class Twice:
    """An executor that runs each program, and then again from the state before it, as if for another update."""

    def __init__(self, *tensors):
        self._tensors, self.programs = tensors, {}

    def run(self, program):
        self.programs[id(program)] = program
        before = [tensor.clone() for tensor in self._tensors]
        for again in (True, False):
            with Waits():
                for operation in program:
                    operation()
            if again:
                first = [tensor.clone() for tensor in self._tensors]
                for tensor, value in zip(self._tensors, before):
                    tensor.copy_(value)
        assert all(map(torch.equal, first, self._tensors)), "what an update counts is not in the program"


@pytest.mark.parametrize("name", AUTOGRAD)
def test_an_update_by_autograd_can_be_recorded_once_for_each_kind(name, memory):
    """Mutations: counting in `update`, a kind that forgets the warm-up or the delay, distributions that check."""
    learner, state, begin = AUTOGRAD[name]()
    adams = [value for value in vars(learner.learner).values() if isinstance(value, FlatAdam)]
    twice = Twice(state, *(adam.steps for adam in adams))
    assert updated(memory, learner, state, begin, twice) == updated(memory, *AUTOGRAD[name](), InTurn())
    kinds = {"crossq": 6, "crossq, fixed temperature, plain actor": 6, "crossq, critics": 2, "crossq, actor": 1}
    assert len(twice.programs) == kinds[name]


@on_a_gpu
@pytest.mark.parametrize("name", [*LEARNERS, *AUTOGRAD])
def test_cuda_graphs_repeat_every_bit(name, memory):
    make = {**LEARNERS, **AUTOGRAD}[name]
    graphs, expected = CudaGraphs(DEVICE), updated(memory, *make(), InTurn())
    learner, *more = make()
    assert [updated(memory, learner, *more, graphs) for _ in range(2)] == [expected] * 2
