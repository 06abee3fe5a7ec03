"""ESAC: its population, gradient, schedule, SAC part and report."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import rankdata

from erlbench.algorithms.esac import ESAC, ESACSettings
from erlbench.envs.registry import problem
from erlbench.errors import UsageError
from erlbench.settings import resolve
from erlbench.work.seeding import Purpose
from erlbench.work.tasks import Counts, Priority
from erlbench.work.workspace import Workspace
from tests.runs import make_cell, rows, run

SMALL = {
    "hidden": (8, 8), "critic_hidden": (8, 8), "population": 10, "gradient_interval": 2, "sac_episodes": 2,
    "batch_size": 8, "start_timesteps": 500, "validation_every": 2, "validation_episodes": 2,
}  # fmt: skip


class Parts:
    """The states of the search and of the coupling."""

    def __init__(self, algorithm):
        self.es, self.winners = algorithm.search.state, algorithm.coupling.state


def population_of(algorithm):
    return algorithm.coupling.population(lambda index: algorithm.key(Purpose.NOISE, algorithm.generation, index))


@pytest.fixture
def make(new_context):
    """Makes ESAC on a pendulum that has 200 steps an episode."""

    def built(**changes):
        settings = resolve(ESACSettings, "Pendulum-v1", {}, {**SMALL, **changes})
        return ESAC(settings, new_context(problem("Pendulum-v1"), 7, 100_000))

    return built


def step(algorithm, workspace):
    """Run what may start; the tasks with their results."""
    done = [(task, workspace.run(task)) for task in algorithm.ask()]
    for pair in done:
        algorithm.tell(*pair)
    return done


def generation(algorithm, workspace):
    """A whole generation; its first tasks with their results."""
    done = step(algorithm, workspace)
    (gradient,) = step(algorithm, workspace)
    assert gradient[0].kind == "gradient"
    return done


def of_kind(done, kind):
    return [(task, result) for task, result in done if task.kind == kind]


def centres(tasks):
    return [task.inputs["parameters"].centre for task in tasks]


def test_members_are_children_then_mirrored_pairs_then_copies_of_sac(make):
    algorithm = make()
    workspace, state = Workspace(algorithm.context.store), Parts(algorithm)
    assert (algorithm.settings.winners(10), algorithm.settings.copies(10)) == (4, 1)
    first = [task for task, _ in of_kind(generation(algorithm, workspace), "es")]
    assert len(first) == 10
    assert len(set(centres(first)[:9])) == 1
    second = [task for task in algorithm.ask() if task.kind == "es"]
    assert centres(second) == [*state.winners.children, *[state.es.policy] * 5, state.winners.actor]
    signs = [task.inputs["parameters"].sign for task in second]
    keys = [task.inputs["parameters"].key for task in second]
    assert signs == [1, 1, 1, 1, 1, -1, 1, -1, 1, 1], "an odd member has no partner"
    assert keys[4] == keys[5]
    assert len(set(keys)) == 8
    load = algorithm.context.store.load
    plus, minus = (load(task.inputs["parameters"]).astype(float) for task in second[4:6])
    np.testing.assert_allclose((plus + minus) / 2, state.es.mean, atol=1e-7)
    noise = (plus - minus) / 2 / state.es.sigma
    assert noise.std() == pytest.approx(1.0, abs=0.1)
    assert {task.counts for task in second} == {Counts.TRAINING}
    assert not any(task.settings.record for task in second), "only SAC's steps are learnt from"


@pytest.mark.parametrize(("sampling", "count", "distinct"), [("pairs", 20, 10), ("independent", 10, 10)])
def test_other_samplings(make, sampling, count, distinct):
    population = population_of(make(sampling=sampling))
    assert len(population) == count
    assert len({z.key for z in population}) == distinct
    assert sum(z.sign for z in population) == (0 if sampling == "pairs" else count)


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
@pytest.mark.parametrize("sampling", ["mirrored", "pairs", "independent"])
def test_the_mean_climbs_the_ranks_of_the_members_around_it(make, sampling, optimiser):
    """Line 11 by hand, with SciPy's ranks of all members, in the second generation, which has children."""
    algorithm = make(sampling=sampling, optimizer=optimiser, es_learning_rate=0.01, sigma_init=0.1)
    workspace, state, load = Workspace(algorithm.context.store), Parts(algorithm), algorithm.context.store.load
    generation(algorithm, workspace)
    mean, mean_ref, sigma = state.es.mean.copy(), state.es.policy, state.es.sigma
    first, second = state.es.moments.first.copy(), state.es.moments.second.copy()
    done = of_kind(step(algorithm, workspace), "es")
    returns = [result.values["returns"][0] for _, result in done]
    scores = (rankdata(returns) - 1) / (len(returns) - 1) - 0.5
    parts = [
        score * (load(task.inputs["parameters"]).astype(float) - mean) / sigma
        for (task, _), score in zip(done, scores)
        if task.inputs["parameters"].centre == mean_ref
    ]
    estimate = sum(parts) / (len(parts) * sigma)
    step(algorithm, workspace)
    if optimiser == "sgd":
        expected = 0.01 * estimate
    else:  # Adam's second step
        first, second = 0.9 * first - 0.1 * estimate, 0.999 * second + 0.001 * estimate**2
        expected = -0.01 * (first / (1 - 0.9**2)) / np.sqrt(second / (1 - 0.999**2))
    np.testing.assert_allclose(state.es.mean - mean, expected, rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(load(state.es.policy), state.es.mean, atol=1e-6)


def test_workers_get_the_sigma_that_tuning_has_made(make):
    """After the generation in which SAC learnt, whose own noise still had the old one."""
    algorithm = make(p_end=1.0)
    workspace, state = Workspace(algorithm.context.store), Parts(algorithm)
    for number in (1, 2, 3, 4, 5):
        done = generation(algorithm, workspace)
        (used,) = {task.inputs["parameters"].scale for task, _ in of_kind(done, "es")}
        assert used == pytest.approx(0.005 + 1e-4 * ((number - 1) // 2))
        assert len(of_kind(done, "rl")) == (number % 2 == 0)
    assert state.es.sigma == pytest.approx(0.0052)
    assert (state.es.amt_steps, state.es.amt_clipped, algorithm.metrics()["amt_clip_rate"]) == (2, 2, 1.0)
    assert {
        z.scale
        for z in algorithm.coupling.population(lambda index: algorithm.key(Purpose.NOISE, algorithm.generation, index))
    } == {state.es.sigma}


def test_tuning_on_ranks_every_few_generations(make):
    algorithm = make(p_start=0.0, p_end=0.0, amt_every=3, amt_rewards="rank", amt_clip=1.0)
    workspace = Workspace(algorithm.context.store)
    for sigma in (0.005, 0.005, 0.005 + 0.0125, 0.0175):
        generation(algorithm, workspace)
        assert algorithm.search.state.sigma == pytest.approx(sigma)
    assert algorithm.metrics()["amt_clip_rate"] == 0.0
    assert algorithm.counters.critic_updates == 0


def test_probability_of_sac_anneals():
    settings = ESACSettings()
    assert settings.probability(0) == 1.0
    assert settings.probability(1.2e6) == pytest.approx(0.431, abs=5e-4)
    assert settings.probability(1e6) == pytest.approx(0.491, abs=5e-4)
    assert settings.probability(1e9) == pytest.approx(0.1)


def test_probability_of_sac_counts_nominal_steps_or_shares_of_the_budget(make):
    algorithm = make()
    algorithm.counters.generation, algorithm.counters.timesteps = 5999, 50_000
    assert algorithm.coupling.probability() == pytest.approx(0.1 + 0.9 * math.exp(-1.0)), "6,000 generations of 200"
    assert algorithm.nominal_timesteps == 5999 * 200
    share = make(p_clock="budget")
    share.counters.timesteps = 50_000
    assert share.coupling.probability() == pytest.approx(0.1 + 0.9 * math.exp(-0.5 / 1.2))


def test_sac_plays_its_episodes_with_an_update_after_each_step(make):
    algorithm = make(p_end=1.0)
    workspace, state = Workspace(algorithm.context.store), Parts(algorithm)
    generation(algorithm, workspace)
    (task, result), *others = step(algorithm, workspace)
    assert (task.kind, task.priority, task.counts, task.gradient) == ("rl", Priority.ROLLOUT, Counts.TRAINING, True)
    assert all(other.id > task.id for other, _ in others), "the longest task starts first"
    assert result.values["lengths"] == [200, 200]
    assert result.values["critic_updates"] == result.values["actor_updates"] == 400 - 8
    assert task.settings.update.temperature == 0.2
    assert algorithm.context.replay.length == 400
    reader = workspace.replay(algorithm.context.replay.view())
    assert reader.transitions[:, 0].std() == pytest.approx(3**-0.5, abs=0.05), "uniform before nominal step 500"
    step(algorithm, workspace)
    assert np.array_equal(
        algorithm.context.store.get(state.winners.actor),
        algorithm.context.store.get(state.winners.learner)[: algorithm.policy_spec.size],
    )
    generation(algorithm, workspace)
    (later, _), *_ = generation(algorithm, workspace)
    assert later.settings.start_timesteps == 0, "by its policy after nominal step 500"
    assert later.settings.timesteps == later.settings.start_updates + 392 == 400
    assert (state.winners.timesteps, state.winners.intervals, algorithm.context.replay.length) == (800, 2, 800)
    assert algorithm.counters.critic_updates == 392 + 400
    assert algorithm.counters.timesteps == 4 * 10 * 200 + 800


def test_the_reported_policy_is_chosen_by_validation(make):
    algorithm = make()
    workspace, state = Workspace(algorithm.context.store), Parts(algorithm)
    assert algorithm.policy() == state.es.policy
    validated = [state.es.policy, state.winners.actor]
    first = of_kind(generation(algorithm, workspace), "validation")
    assert [task.inputs["parameters"] for task, _ in first] == validated
    assert {task.counts for task, _ in first} == {Counts.FITNESS}
    scores = [np.mean(result.values["returns"]) for _, result in first]
    metrics = algorithm.metrics()
    assert [metrics["score_es"], metrics["score_sac"]] == pytest.approx(scores)
    assert math.isnan(metrics["score_winner"])
    assert not of_kind(generation(algorithm, workspace), "validation")
    winner = state.winners.winner
    third = of_kind(generation(algorithm, workspace), "validation")
    assert third[2][0].inputs["parameters"] == winner
    assert algorithm.metrics()["score_winner"] == pytest.approx(np.mean(third[2][1].values["returns"]))
    assert algorithm.counters.fitness_timesteps == (2 + 3) * 2 * 200
    for es, sac, reported in ((1.0, 2.0, "sac"), (2.0, 1.0, "es"), (1.0, 1.0, "es")):
        state.winners.scores = {"mean": es, "learner": sac}
        assert algorithm.policy() == (state.winners.actor if reported == "sac" else state.es.policy)
        assert algorithm.metrics()["reports_sac"] == (reported == "sac")


def test_a_population_needs_members_around_the_mean():
    with pytest.raises(UsageError, match=r"6 winners and 4 copies.* 10\b"):
        resolve(ESACSettings, "Hopper-v5", {}, {"population": 10, "sac_members": 4, "winner_fraction": 0.6})


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["v1", "code"])
def test_presets_run(preset, tmp_path):
    cell = make_cell("esac", tmp_path, preset=preset)
    assert run(cell) == 0
    last = rows(cell.directory, "train.csv")[-1]
    assert int(last["critic_updates"]) > 0
    assert int(last["nominal_timesteps"]) == 1000 * int(last["generation"])


@pytest.mark.slow
def test_esac_learns_to_balance(tmp_path):
    """A pole that falls after about ten steps at first stands for hundreds."""
    settings = {"population": 20, "sigma_init": 0.05, "es_learning_rate": 0.02, "gradient_interval": 5}
    cell = make_cell("esac", tmp_path, steps=100_000, eval_freq=50_000, eval_episodes=10, settings=settings)
    assert run(cell) == 0
    first, *_, last = (float(row["return_mean"]) for row in rows(cell.directory, "eval.csv"))
    assert first < 50
    assert last > 150
