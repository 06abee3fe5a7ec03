"""CrossQ whole: does it learn, what is reported, and do its statistics and counts go on between tasks.

Each test names the mutations that it catches.
"""

from dataclasses import replace

import numpy as np
import pytest

from erlbench.algorithms.crossq import CrossQ, CrossQSettings
from erlbench.algorithms.gradients.crossq import CrossQByAutograd, train_actor, update_critics, update_crossq
from erlbench.algorithms.training.critic import actor_size, fold_norm, initial_critic, learner_parts
from erlbench.algorithms.training.learners import LEARNERS
from erlbench.algorithms.training.update_settings import ActorUpdate, CriticUpdate, CrossQUpdate, Updates, both_rates
from tests.algorithms.gradients.test_updates import KEY, replay, specs, workspace  # noqa: F401 fixtures
from tests.runs import make_cell, returns, rows, run

BATCH = 16
POLICY, CRITIC = specs("relu")
CRITIC = replace(CRITIC, normalised=True)
SMALL = {"hidden": (64, 64), "critic_hidden": (64, 64), "batch_size": 64, "start_timesteps": 300}


@pytest.mark.slow
def test_it_learns(tmp_path):
    """Mutation: the gradient's sign, targets without rewards, actor and critics that do not go together."""
    cell = make_cell("crossq", tmp_path, steps=2400, settings=SMALL, eval_freq=100_000)
    assert run(cell) == 0
    first, *_, last = (np.mean(returns(row)) for row in rows(cell.directory, "eval.csv"))
    assert last > 200 > 50 > first


def test_a_task_of_many_updates_is_as_many_tasks_in_a_row(replay, workspace):  # noqa: F811
    """With the same minibatches: parameters, moments, statistics and counts of the warm-up are all in what is passed.

    Mutations: statistics or moments that stay in a worker, Adam or the warm-up that count anew, a delay that forgets.
    """
    numbers = both_rates(1e-3) | {"discount": 0.9, "temperature": None, "target_entropy": -2.0, "actor_norm": True}
    update = CrossQUpdate(POLICY, CRITIC, BATCH, policy_delay=1, **numbers)
    size = sum(a * b for a, b in learner_parts(POLICY, CRITIC, False, True).values())
    array = 0.3 * np.random.default_rng(0).random(size, np.float32)

    def updated(array, before, updates, key):
        given = {"learner": array, "replay": replay.view()}
        return update_crossq(Updates(update, updates, before, before), given, key, workspace).arrays["learner"]

    first = updated(array, 99_999, 1, KEY)
    second = updated(first, 100_000, 1, (*KEY, 1))
    workspace.scratch.clear()
    assert np.array_equal(updated(array, 99_999, 1, KEY), first)
    updated(array, 0, 3, KEY)  # other work in between
    assert np.array_equal(updated(first, 100_000, 1, (*KEY, 1)), second)
    assert not np.array_equal(updated(first, 99_999, 1, (*KEY, 1)), second), "the warm-up is over"


def test_critics_and_individuals_of_a_population(replay, workspace):  # noqa: F811
    """Mutations: actors that change critics, critics that change actors, rows of another order."""
    policy = replace(POLICY, stochastic=True)
    critic, actor = initial_critic(CRITIC, (3,)), np.full(policy.size, 0.1, np.float32)
    more = {"tau": 0.005, "target_noise": 0.0, "noise_clip": 0.0, "temperature": 0.2}
    settings = Updates(CriticUpdate(policy, CRITIC, BATCH, learning_rate=1e-3, discount=0.9, **more), 5)
    given = {"critic": critic, "target_actor": actor, "replay": replay.view()}
    trained = update_critics(settings, given, KEY, workspace).arrays["critic"]
    assert trained.shape == CRITIC.shape
    assert (trained != critic).any(1).all()
    given = {"parameters": actor, "critic": trained, "replay": replay.view()}
    climbed = train_actor(Updates(ActorUpdate(policy, CRITIC, BATCH, 1e-3, 0.2), 5), given, KEY, workspace)
    found = climbed.arrays["parameters"]
    assert found.shape == actor.shape
    assert 0 < np.abs(found - actor).max() < 0.05


def test_what_is_reported_first_is_the_folded_actor(new_context):
    """Mutation: the unfolded weights, which act otherwise as soon as statistics move."""
    from erlbench.envs.registry import problem

    context = new_context(problem("Pendulum-v1"), 0, 1000, workers=1)
    algorithm = CrossQ(CrossQSettings(hidden=(6, 5), critic_hidden=(8,)), context)
    learner, actor = (context.store.get(ref) for ref in (algorithm.state.learner, algorithm.state.actor))
    policy = algorithm.policy_spec
    end = learner_parts(policy, algorithm._critic, False, True)["actor"][1]
    np.testing.assert_array_equal(actor, fold_norm(policy, learner[:end]))
    assert not np.array_equal(actor, learner[: policy.size])
    [task] = algorithm.ask()
    made = CrossQByAutograd(task.settings.update, "cpu")
    assert len(made.state) == len(learner)
    plain = CrossQ(CrossQSettings(hidden=(6, 5), critic_hidden=(8,), actor_norm="none"), context)
    assert actor_size(policy) == end - 4 * (3 + 6 + 5)
    np.testing.assert_array_equal(
        context.store.get(plain.state.actor), context.store.get(plain.state.learner)[: policy.size]
    )


def test_the_learner_of_hybrids_has_no_normalised_actor():
    start = LEARNERS["crossq"].start(POLICY, CRITIC, (1,))
    assert len(start) == sum(a * b for a, b in learner_parts(POLICY, CRITIC, False).values())
