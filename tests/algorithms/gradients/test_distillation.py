"""PDERL's operators against float64 computations of their own."""

import numpy as np
import torch
from numpy.testing import assert_allclose, assert_array_equal

from erlbench.algorithms.gradients.distillation import distil, mutate
from erlbench.algorithms.training.breeding import Distillation, ProximalMutation
from erlbench.algorithms.training.critic import critic_spec, initial_learner
from erlbench.policy import PolicySpec, initial_parameters, layer_slices
from erlbench.work.seeding import Purpose, generator

from .test_updates import ACTION, OBSERVATION, replay, workspace  # noqa: F401 fixtures

POLICY = PolicySpec((OBSERVATION, 6, 5, ACTION), "tanh", (-2.0,) * ACTION, (2.0,) * ACTION)
CRITIC = critic_spec(POLICY, (7, 5), "relu", 1)
RANGES = ((2, 10), (20, 44))


def network(vector, sizes, x, hidden, output):
    places = layer_slices(sizes)
    for (weight, bias), inputs, outputs in zip(places, sizes, sizes[1:]):
        x = x @ vector[weight].view(outputs, inputs).T + vector[bias]
        x = (output if (weight, bias) == places[-1] else hidden)(x)
    return x


def act(vector, states):
    return network(vector, POLICY.sizes, states, torch.tanh, torch.tanh)


def states_of(replay, workspace):  # noqa: F811
    """The states of the ranges, as the replay's reader has them."""
    indices, states = np.concatenate([np.arange(*each) for each in RANGES]), np.empty((32, OBSERVATION), np.float32)
    workspace.replay(replay.view()).gather(indices, states)
    return torch.from_numpy(states).double()


def double(vector):
    return torch.from_numpy(np.asarray(vector)).double()


def test_a_step_of_distillation_equals_float64(replay, workspace):  # noqa: F811
    """Finds the action of the lower value, a child that starts as the fitter parent, a step of another length."""
    first, second = (initial_parameters(POLICY.sizes, (number,)) * 3 for number in (1, 2))
    learner = initial_learner(POLICY, CRITIC, (3,))
    settings = Distillation(POLICY, CRITIC, RANGES, 1, 32, 1e-3)
    inputs = {"first": first, "second": second, "learner": learner, "replay": replay.view()}
    outcome = distil(settings, inputs, (5,), workspace)
    states, q = states_of(replay, workspace), double(learner[4 * POLICY.size :][: CRITIC.size])
    one, other = (act(double(each), states) for each in (first, second))

    def value(actions):
        return network(q, CRITIC.sizes, torch.cat([states, actions], 1), torch.relu, lambda x: x)

    better = value(one) > value(other)
    assert 0.1 < better.double().mean() < 0.9
    child = double(second).requires_grad_()
    actions = act(child, states)
    loss = ((actions - torch.where(better, one, other)) ** 2).sum() + (actions**2).mean()
    (gradient,) = torch.autograd.grad(loss, child)
    expected, sure = (child - 1e-3 * gradient / (gradient.abs() + 1e-8)).detach(), gradient.abs() > 1e-3
    assert sure.double().mean() > 0.9
    assert_allclose(double(outcome.arrays["parameters"])[sure], expected[sure], atol=1e-6)


def test_a_child_also_learns_from_fewer_states_than_a_minibatch(replay, workspace):  # noqa: F811
    """One minibatch of all of them per epoch, as in the public code."""
    first, second = (initial_parameters(POLICY.sizes, (number,)) for number in (1, 2))
    inputs = {"first": first, "second": second, "learner": initial_learner(POLICY, CRITIC, (3,))}
    children = [
        distil(Distillation(POLICY, CRITIC, RANGES, 2, size, 1e-3), inputs | {"replay": replay.view()}, (5,), workspace)
        for size in (32, 128)
    ]
    whole, child = (each.arrays["parameters"] for each in children)
    assert (child != second).any()
    assert_array_equal(child, whole)


def test_a_proximal_mutation_equals_float64(replay, workspace):  # noqa: F811
    """Finds a root of the sum over states (not of their sum's square), mutated biases, a bound that is left out."""
    vector = initial_parameters(POLICY.sizes, (4,))
    vector[layer_slices(POLICY.sizes)[1][0]].reshape(5, 6)[:, 0] *= 1e-3  # so the first unit has little influence
    settings = ProximalMutation(POLICY, RANGES, 0.1, 256)
    outcome = mutate(settings, {"parameters": vector, "replay": replay.view()}, (5,), workspace)
    states, scale = states_of(replay, workspace), torch.zeros(POLICY.size, dtype=torch.double)
    for k in range(ACTION):
        total = torch.zeros_like(scale)
        for state in states:  # one after the other
            w = double(vector).requires_grad_()
            total += torch.autograd.grad(act(w, state[None])[0, k], w)[0]
        scale += total**2
    scale = scale.sqrt()
    scale = torch.where(scale == 0, 1.0, torch.where(scale < 0.01, 0.01, scale))
    random = generator(5, int(Purpose.NOISE))
    random.permutation(len(states))
    noise = random.standard_normal(POLICY.size, dtype=np.float32)
    weights = np.zeros(POLICY.size, bool)
    for weight, _ in layer_slices(POLICY.sizes):
        weights[weight] = True
    expected = vector.astype(np.float64) + np.where(weights, 0.1 * noise / scale.numpy(), 0.0)
    assert_allclose(outcome.arrays["parameters"], expected, rtol=1e-6, atol=1e-6)
