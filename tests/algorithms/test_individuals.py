"""What individuals are: their policies on continuous and discrete problems, and their start states."""

import dataclasses
import types

import pytest

from erlbench.algorithms import registry
from erlbench.algorithms.cem import CEMSettings
from erlbench.algorithms.cma_es import CMAESSettings
from erlbench.algorithms.individuals import policy_of, start_states
from erlbench.algorithms.td3 import TD3Settings
from erlbench.envs.registry import EnvSpec, Problem
from erlbench.errors import UsageError
from erlbench.experiment.settings import resolve
from erlbench.policy import PolicySpec

from .fake import Fake

ROLLOUT = "erlbench.work.rollout:rollout"
CONTINUOUS = Problem(EnvSpec("Pendulum-v1", 200), 3, 1, (-2.0,), (2.0,))
DISCRETE = Problem(EnvSpec("CartPole-v1", 500), 4, 2, (), (), discrete=True)


@pytest.mark.parametrize("settings", [CEMSettings(), CMAESSettings(), TD3Settings()])
def test_by_default_a_policy_is_a_tanh_mlp(settings):
    sizes = (3, *settings.hidden, 1)
    assert policy_of(CONTINUOUS, settings) == PolicySpec(sizes, settings.activation, (-2.0,), (2.0,))


def test_a_searched_policy_is_what_its_settings_say():
    overrides = {"network": "lstm", "hidden": "16", "squashing": "linear"}
    policy = policy_of(CONTINUOUS, resolve(CMAESSettings, "Pendulum-v1", overrides=overrides))
    assert (policy.size, policy.bounded) == (1361, False)
    policy = policy_of(
        CONTINUOUS, resolve(CEMSettings, "Pendulum-v1", overrides={"hidden": (), "bins": 5, "bias": False})
    )
    assert (policy.size, policy.actions) == (15, "bins")


def test_discrete_actions_are_the_argmax_of_outputs_squashed_for_gradients_only():
    assert policy_of(DISCRETE, CMAESSettings(stochastic=True)) == PolicySpec(
        (4, 64, 64, 2), "tanh", (), (), squashing="linear", actions="discrete", stochastic=True
    )
    assert policy_of(DISCRETE, TD3Settings()).squashing == "tanh"
    with pytest.raises(UsageError, match="bins=5 is for continuous actions; CartPole-v1 has discrete ones"):
        policy_of(DISCRETE, CMAESSettings(bins=5))


def test_start_states_are_shared_as_the_settings_say():
    def states(kind, generation, episodes=None):
        settings = dataclasses.replace(CMAESSettings(), start_states=kind, episodes=2)
        algorithm = types.SimpleNamespace(settings=settings, key=lambda *key: (0, *map(int, key)))
        return start_states(algorithm, generation, episodes)

    assert states("fresh", 0) == []
    assert states("generation", 0) != states("generation", 1)
    assert states("generation", 1) == states("generation", 1, 5)[:2]
    assert states("fixed", 0) == states("fixed", 1)
    assert len(set(states("fixed", 0))) == 2


@pytest.fixture
def fake(tmp_path):
    made = []

    def make(algo, **settings):
        algorithm = registry.find(algo)
        small = {"hidden": (4,), "population": 4, "elites": 2, "n_grad": 2, "start_timesteps": 0, "batch_size": 4}
        settings = {k: v for k, v in small.items() if k in algorithm.settings_type.__dataclass_fields__} | settings
        made.append(Fake(tmp_path, algorithm, resolve(algorithm.settings_type, "Fake-v0", overrides=settings)))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.mark.parametrize("algo", ["cem", "cem-rl", "p-cem-rl", "cma-es"])
def test_a_generation_plays_common_start_states_and_every_step_counts(algo, fake):
    run, seen = fake(algo, episodes=3, start_states="generation"), []
    for generation in range(3):
        tasks = run.ask()
        seen.append({task.settings.seeds for task in tasks if task.function == ROLLOUT})
        for task in tasks:
            run.finish(task, fitness=7.0)
        assert run.algorithm.counters.timesteps == (generation + 1) * 4 * 3 * 10
    assert [len(seeds) for seeds in seen] == [1, 1, 1]
    assert len(set.union(*seen)) == 3
    assert all(len(set(seeds)) == 3 for seeds in set.union(*seen))
    assert run.algorithm.metrics()["fitness_best"] == 7.0
    assert run.algorithm.metrics()["steps"] == 120


def test_an_aes_rl_individual_and_its_mean_play_the_same_start_states(fake):
    run = fake("aes-rl", episodes=2, start_states="generation", mean_episodes=3, warmup="own-policies")
    (first,) = run.ask()
    run.finish(first)
    (mean,) = run.ask()[:1]
    assert mean.kind == "mean"
    assert mean.settings.seeds[:2] == first.settings.seeds
    run.finish(mean)
    second = next(task for task in run.ask() if task.function == ROLLOUT)
    assert not set(second.settings.seeds) & set(mean.settings.seeds)
    assert run.algorithm.counters.timesteps == 20


def test_actors_that_gradients_train_stay_mlps():
    fields = {name: set(registry.find(name).settings_type.__dataclass_fields__) for name in registry.ALGORITHMS}
    searched = {name for name in fields if "network" in fields[name]}
    assert {"cem", "cma-es"} <= searched
    assert not [name for name in searched if registry.entry(name).critic_updates]
    assert {"cem", "cma-es", "cem-rl", "p-cem-rl", "aes-rl"} <= {n for n in fields if "start_states" in fields[n]}
