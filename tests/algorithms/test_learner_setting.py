"""The learner as a setting of CEM-RL, P-CEM-RL and AES-RL: what their tasks are, and whole runs."""

from __future__ import annotations

import numpy as np
import pytest

from erlbench.algorithms import registry
from erlbench.algorithms.training.critic import CriticSpec
from erlbench.envs.catalogue import LISTED, installed
from erlbench.envs.registry import problem
from erlbench.errors import UsageError
from erlbench.settings import resolve
from tests.runs import all_rows, check_counts, interrupt, make_cell, run

POPULATION = ("cem-rl", "p-cem-rl", "aes-rl")


@pytest.fixture
def algorithm(new_context):
    """Makes an algorithm on Pendulum with settings."""

    def make(name, **settings):
        kind = registry.find(name)
        values = resolve(kind.settings_type, "Pendulum-v1", {}, {"hidden": "16-12", **settings})
        return kind(values, new_context(problem("Pendulum-v1"), 0, 1000, workers=5))

    return make


@pytest.mark.parametrize("name", POPULATION)
def test_networks_and_tasks_of_each_learner(name, algorithm):
    from erlbench.algorithms.training.gradient_tasks import actor_task, critic_of, critic_task

    deterministic = 4 * 16 + 17 * 12 + 13 * 1
    found = {}
    for learner in ("td3", "ddpg", "crossq", "sac"):
        it = algorithm(name, learner=learner)
        view = it.context.replay.view()
        critic, actor = it.state.critic.parameters, it.policy()
        tasks = [critic_task(it, critic, actor, 10, 0, view), actor_task(it, actor, critic, 10, view)]
        assert it.policy_spec.size == deterministic + (13 if learner in ("sac", "crossq") else 0)
        assert it.context.store.get(actor).shape == (it.policy_spec.size,)
        assert critic.shape == critic_of(it).shape
        found[learner] = critic_of(it).count, tasks[0].settings.update.target_noise, [task.function for task in tasks]
        (first, *_) = (task for task in it.ask() if task.kind in ("es", "random"))
        assert first.settings.mode is True
    plain = [f"erlbench.algorithms.gradients.updates:{name}" for name in ("update_critic", "train_actor")]
    crossq = [f"erlbench.algorithms.gradients.crossq:{name}" for name in ("update_critics", "train_actor")]
    assert found.pop("crossq") == (2, 0.0, crossq)
    assert found == {"td3": (2, 0.1, plain), "ddpg": (1, 0.0, plain), "sac": (2, 0.0, plain)}
    assert isinstance(critic_of(it), CriticSpec)
    drawing = algorithm(name, learner="sac", stochastic=True)
    assert not any(task.settings.mode for task in drawing.ask() if task.kind in ("es", "random"))


@pytest.mark.parametrize("name", POPULATION)
def test_settings_that_do_not_fit(name, algorithm):
    with pytest.raises(UsageError, match="learner=sac or crossq, not td3"):
        algorithm(name, stochastic=True)
    with pytest.raises(UsageError, match=r"learner=sac .*hidden layer"):
        algorithm(name, learner="sac", hidden="")
    with pytest.raises(UsageError, match="td3, ddpg, sac, crossq"):
        algorithm(name, learner="ppo")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "learner"), [("cem-rl", "ddpg"), ("cem-rl", "sac"), ("p-cem-rl", "sac"), ("cem-rl", "crossq")]
)
def test_synchronous_runs_repeat(name, learner, tmp_path):
    """Resumed, and with three processes: the same numbers; both kinds of updates are made."""
    settings = {"learner": learner, "stochastic": learner != "ddpg" and name == "cem-rl"}
    whole, parts, three = (make_cell(name, tmp_path / folder, settings=settings) for folder in ("0", "parts", "3"))
    assert run(whole) == 0
    check_counts(whole)
    found = all_rows(whole.directory)
    assert int(found["eval.csv"][-1]["critic_updates"]) > 100
    assert int(found["eval.csv"][-1]["actor_updates"]) > 100
    assert run(interrupt(parts, 40)) == 0
    assert all_rows(parts.directory) == found
    assert run(three, processes=3) == 0
    assert all_rows(three.directory) == found


def test_individuals_of_sac_need_continuous_actions():
    from dataclasses import replace

    from erlbench.algorithms.policy_settings import policy_of

    settings = resolve(registry.find("cem-rl").settings_type, "Pendulum-v1", {}, {"learner": "sac"})
    discrete = replace(problem("Pendulum-v1"), discrete=True, action_size=3, action_low=(), action_high=())
    with pytest.raises(UsageError, match=r"learner=sac .*Pendulum-v1 .*discrete"):
        policy_of(discrete, settings)
    assert policy_of(discrete, replace(settings, learner="ddpg")).actions == "discrete"


OF_GYMNASIUM = [row for row in LISTED.values() if not row.discrete and "/" not in row.id and ":" not in row.id]
CONTINUOUS = [row.id for row in OF_GYMNASIUM if not row.extra or installed(row.extra)]


@pytest.mark.parametrize("env", CONTINUOUS)
def test_the_noise_on_target_actions_is_the_codes_whatever_the_bound_of_the_action(env):
    """0.2 within +-0.5, in units of the action: the public codes do not scale it by the bound."""
    bound = np.unique(problem(env).action_high)
    for name in (*POPULATION, "multi-actor-td3"):
        settings = resolve(registry.find(name).settings_type, env)
        assert settings.target_noise * bound == pytest.approx(0.2, rel=1e-3)
        assert settings.noise_clip * bound == pytest.approx(0.5, rel=1e-3)
    assert settings.exploration_noise * bound == pytest.approx(0.1, rel=1e-3)
