"""How ERL's learner starts, and what PDERL's individuals remember."""

import numpy as np

from erlbench.algorithms.erl import ERL, ERLSettings
from erlbench.algorithms.search.pderl import latest
from erlbench.algorithms.training.gradient_tasks import make_critic_spec
from erlbench.policy import layer_slices


def test_the_learner_starts_as_the_public_code_does(context):
    """Last layers times 0.1, not so the individuals'."""
    algorithm = ERL(ERLSettings(hidden=(8,), critic_hidden=(8,)), context)
    load, policy, critic = algorithm.context.store.get, algorithm.policy_spec, make_critic_spec(algorithm)
    learner = load(algorithm.coupling.state.learner)
    q = learner[4 * policy.size :]
    individuals = np.array([load(z) for z in algorithm.search.state.population])
    bound = 8**-0.5  # PyTorch's, of a layer with 8 inputs
    for parameters, sizes, scale in (
        (learner[None], policy.sizes, 0.1),
        (q[None], critic.sizes, 0.1),
        (individuals, policy.sizes, 1.0),
    ):
        weight, bias = layer_slices(sizes)[-1]
        last = np.abs(parameters[:, weight.start : bias.stop]).max()
        assert 0.5 * scale * bound < last <= scale * bound
    assert np.array_equal(learner[: policy.size], learner[policy.size : 2 * policy.size])  # the target's, too
    assert np.array_equal(q[: critic.size], q[critic.size : 2 * critic.size])


def test_a_memory_keeps_the_latest():
    assert latest([(0, 10), (30, 35), (50, 58)], 10) == [(33, 35), (50, 58)]
    assert latest([(0, 10)], 20) == [(0, 10)]
    assert latest([(0, 10), (20, 30)], 10) == [(20, 30)]
