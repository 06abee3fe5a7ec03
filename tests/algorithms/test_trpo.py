"""TRPO: whole iterations against sb3-contrib's own loop, its counts, and a step that the line search refuses."""

import numpy as np
import pytest
import torch
from sb3_contrib import TRPO as Theirs

from erlbench.algorithms import registry, trpo
from erlbench.envs.registry import problem
from tests.algorithms.on_policy import Follow, iterate, starting, their_model, three_iterations

start = starting(trpo.TRPO)


def their_trpo(algorithm, task, keys, first, monkeypatch):
    """sb3-contrib's TRPO on the same task with our initial parameters and random numbers."""
    settings, follow = algorithm.settings, Follow(keys, lambda random: torch.manual_seed(int(random.integers(2**31))))
    own = {
        "batch_size": settings.batch_size, "cg_max_steps": settings.conjugate_steps, "cg_damping": settings.damping,
        "gamma": settings.discount, "n_critic_updates": settings.value_epochs, "target_kl": settings.target_divergence,
        "sub_sampling_factor": settings.subsampling,
    }  # fmt: skip
    return their_model(Theirs, algorithm, task, follow, first, monkeypatch, **own), follow


@pytest.mark.parametrize(
    ("env", "settings"),
    [
        ("InvertedPendulum-v5", {}),  # episodes that fail
        ("Pendulum-v1", {}),  # and that are truncated: the value goes on
        ("CartPole-v1", {}),  # discrete actions
        ("Pendulum-v1", dict(registry.preset("trpo", "sb3"))),
        ("Pendulum-v1", {"subsampling": 2, "discount": 0.9, "target_divergence": 0.04}),
    ],
)
def test_three_iterations_equal_those_of_sb3_contrib(env, settings, start, monkeypatch):
    ours, theirs = three_iterations(start, their_trpo, env, settings, monkeypatch)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-4)
    for before, after in zip(ours, ours[1:]):
        assert np.abs(after - before).max() > 1e-2


@pytest.mark.parametrize(("steps", "subsampling"), [(1, 1), (6, 6)])
def test_a_policy_steps_on_a_single_transition(steps, subsampling, start):
    algorithm, workspace = start(problem("Pendulum-v1"), total=steps, subsampling=subsampling)
    iterate(algorithm, workspace)
    assert np.isfinite(workspace.store.get(algorithm.state.learner)).all()
    assert algorithm.counters.timesteps == steps


def test_a_refused_step_leaves_the_policy_as_it_was(start, monkeypatch):
    """Down the gradient no step length improves the objective."""
    monkeypatch.setattr(
        "sb3_contrib.trpo.trpo.conjugate_gradient_solver", lambda product, gradient, max_iter: -gradient
    )
    algorithm, workspace = start(problem("Pendulum-v1"))
    task, _ = iterate(algorithm, workspace)
    before, after = (workspace.store.get(ref)[0] for ref in (task.inputs["learner"], algorithm.state.learner))
    assert algorithm.metrics()["line_search_success"] == algorithm.counters.actor_updates == 0
    hidden = 1 + 16 * 4 + 8 * 17  # the deviation and the policy's hidden layers
    np.testing.assert_array_equal(after[:hidden], before[:hidden])
    assert np.abs(after - before).max() > 1e-3  # the values learn
