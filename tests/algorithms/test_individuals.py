"""The episodes of individuals: the start states that they share."""

import dataclasses
import types

import pytest

from erlbench.algorithms import registry
from erlbench.algorithms.cma_es import CMAESSettings
from erlbench.algorithms.individuals import start_states
from erlbench.settings import resolve

ROLLOUT = "erlbench.work.rollout:rollout"


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
def fake(new_fake):
    def make(algo, **settings):
        algorithm = registry.find(algo)
        small = {"hidden": (4,), "population": 4, "elites": 2, "n_grad": 2, "start_timesteps": 0, "batch_size": 4}
        settings = {k: v for k, v in small.items() if k in algorithm.settings_type.__dataclass_fields__} | settings
        return new_fake(algorithm, resolve(algorithm.settings_type, "Fake-v0", overrides=settings))

    return make


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
