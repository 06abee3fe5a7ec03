"""OpenAI-ES without environments: pairs, updates, statistics, limits, stale results, messages; and that it learns."""

import math

import numpy as np
import pytest

from erlbench.algorithms.openai_es import OpenAIES, OpenAIESSettings
from erlbench.algorithms.search.evolution_strategy import centred_ranks
from erlbench.algorithms.search.observation_statistics import ObservationStatistics
from erlbench.envs.registry import problem
from erlbench.errors import UsageError
from erlbench.settings import resolve
from erlbench.work.noise import NoiseTable
from erlbench.work.tasks import Counts, Result
from erlbench.work.workspace import Workspace
from tests.runs import all_rows, check_counts, interrupt, make_cell, rows, run


@pytest.fixture
def make(new_fake):
    def create(workers=4, **changes):
        settings = {"hidden": (), "population": 4, "noise_table": 0} | changes
        return new_fake(OpenAIES, OpenAIESSettings(**settings), workers=workers)

    return create


def finish(fake, task, fitness=0.0, length=10, observed=None):
    """Tell a rollout with what is given, and a block of the gradient as it is."""
    del fake.open[task.id]
    if task.kind == "gradient":
        result = Workspace(fake.store).run(task)
    else:
        episodes = task.settings.episodes
        arrays, values = {}, {"returns": [fitness] * episodes, "lengths": [length] * episodes}
        if observed is not None:
            values["observed"] = len(observed)
            sums = np.stack([observed.sum(axis=0), (observed**2).sum(axis=0)])
            arrays["observed"] = fake.store.put(f"{task.id}.observed", sums)
        result = Result(task.id, values, arrays, 0.0, 1.0, 0)
    fake.algorithm.tell(task, result)


def generation(fake, score, **more):
    """Play one generation to its end; `score(parameters)` is the return. The rollouts' parameters and returns."""
    played, number = [], fake.algorithm.counters.generation
    while fake.algorithm.counters.generation == number:
        tasks = fake.ask()
        assert tasks
        for task in tasks:
            if task.kind == "gradient":
                finish(fake, task)
            else:
                parameters = np.array(fake.input(task, "parameters"))
                played.append((parameters, score(parameters)))
                finish(fake, task, played[-1][1], **more)
    return played


def test_a_pair_is_the_mean_plus_and_minus_sigma_times_the_same_noise(make):
    fake = make(sigma=0.3)
    mean = np.array(fake.store.load(fake.algorithm.policy()))
    size = fake.algorithm.policy_spec.learnt_size
    tasks = fake.ask()
    assert [(task.individual, task.inputs["parameters"].sign) for task in tasks] == [(0, 1), (1, -1), (2, 1), (3, -1)]
    plus, minus, other, _ = (np.array(fake.input(task, "parameters")) for task in tasks)
    noise = fake.store.noise(tasks[0].inputs["parameters"].key, size)
    np.testing.assert_array_equal(plus[:size], mean[:size] + np.float32(0.3) * noise)
    np.testing.assert_array_equal(minus[:size], mean[:size] - np.float32(0.3) * noise)
    np.testing.assert_array_equal(plus[size:], mean[size:])
    assert np.abs(other - plus)[:size].min() > 0


@pytest.mark.parametrize("table", [0, 1000])
def test_an_update_is_adams_first_step_along_ranks_and_decay(make, table):
    fake = make(sigma=0.1, l2=0.01, learning_rate=0.05, population=6, noise_table=table)
    state = fake.algorithm.state
    mean, size = state.mean.copy(), state.mean.size
    keys = [task.inputs["parameters"].key for task in fake.algorithm.ask()][::2]
    fake = make(sigma=0.1, l2=0.01, learning_rate=0.05, population=6, noise_table=table)
    played = generation(fake, lambda parameters: float(parameters[0]))
    noise = np.array([fake.store.noise(key, size, NoiseTable(table, 123) if table else None) for key in keys])
    ranks = centred_ranks([score for _, score in played]).reshape(3, 2)
    loss = 0.01 * mean - (ranks[:, 0] - ranks[:, 1]) @ noise / 6
    moment, square = 0.1 * loss, 0.001 * loss**2
    expected = mean - 0.05 * math.sqrt(0.001) / 0.1 * moment / (np.sqrt(square) + 1e-8)
    np.testing.assert_allclose(fake.algorithm.state.mean, expected, rtol=1e-10)
    np.testing.assert_array_equal(
        fake.store.load(fake.algorithm.policy())[:size], fake.algorithm.state.mean.astype(np.float32)
    )


def test_statistics_of_observations_change_between_generations_only(make):
    fake = make()
    size = fake.algorithm.policy_spec.learnt_size
    seen = np.array([[1.0, 30.0], [3.0, 30.0]])
    for count in (0, 8, 16):  # two observations of each of four individuals
        tasks, ends = fake.ask(), []
        expected_mean = (count / 2 * seen.sum(axis=0)) / (count + 0.01)
        square = (count / 2 * (seen**2).sum(axis=0) + 0.01) / (count + 0.01)
        std = np.sqrt(np.maximum(square - expected_mean**2, 0.01))
        for task in tasks:
            ends.append(np.array(fake.input(task, "parameters"))[size:])
            finish(fake, task, observed=seen)
        for end in ends:
            np.testing.assert_allclose(end, np.concatenate((expected_mean, std)), rtol=1e-6)
        for task in fake.ask():
            finish(fake, task)


def test_statistics_begin_at_mean_0_and_deviation_1_and_keep_a_deviation_of_a_tenth():
    statistics = ObservationStatistics.create(1)
    np.testing.assert_allclose(statistics.moments, [0, 1])
    statistics.add(10**6, np.array([[2e6], [4e6]]))  # always 2
    np.testing.assert_allclose(statistics.moments, [2, 0.1], rtol=1e-6)


def test_a_generation_goes_on_until_it_has_both_its_individuals_and_its_steps(make):
    fake = make(population=4, timesteps_per_batch=100)
    first = fake.ask()
    assert len(first) == 4
    for task in first:
        finish(fake, task, length=10)
    second = fake.ask()
    assert [task.kind for task in second] == ["es"] * 6  # 60 steps are missing, and a pair has 20
    assert len({task.inputs["parameters"].key for task in first + second}) == 5
    for task in second:
        finish(fake, task, length=9)
    third = fake.ask()
    assert [task.kind for task in third] == ["es"] * 2
    for task in third:
        finish(fake, task, length=9)
    assert {task.kind for task in fake.ask()} == {"gradient"}


def test_with_discard_places_are_refilled_and_late_pairs_only_counted(make):
    fake = make(workers=6, stale="discard", population=2)
    assert not fake.algorithm.is_synchronous(fake.algorithm.settings)
    first = fake.ask()
    assert len(first) == 6
    finish(fake, first[4])
    finish(fake, first[5], fitness=1.0)
    more = fake.ask()
    assert sorted(task.kind for task in more) == ["es", "es", "gradient"]
    finish(fake, first[0])
    finish(fake, first[1])  # the generation is full
    (block,) = (task for task in more if task.kind == "gradient")
    finish(fake, block)
    assert fake.algorithm.counters.generation == 1
    assert (fake.algorithm.metrics()["pairs"], fake.algorithm.metrics()["stale_episodes"]) == (1, 2)
    policy = fake.algorithm.policy()
    finish(fake, first[2])
    finish(fake, first[3])
    assert fake.algorithm.policy() == policy
    assert fake.algorithm.state.current.stale == 2
    assert fake.algorithm.counters.timesteps == 60
    assert fake.algorithm.counters.episodes == 6


def test_the_means_own_episodes_have_no_noise_and_no_limit_but_count(make):
    fake = make(mean_share=1.0, time_limit="adaptive:5,1,2")
    tasks = fake.ask()
    own = [task for task in tasks if task.kind == "unperturbed"]
    assert len(own) == 2
    for task in own:
        assert task.inputs["parameters"] == fake.algorithm.policy()
        assert (task.counts, task.settings.action_noise, task.settings.limit) == (Counts.TRAINING, 0.0, None)
    assert {task.settings.limit for task in tasks if task.kind == "es"} == {5}
    for task in tasks:
        finish(fake, task, fitness=3.0 if task.kind == "unperturbed" else 0.0)
    for task in fake.ask():
        finish(fake, task)
    assert fake.algorithm.metrics()["mean_return"] == 3
    assert (fake.algorithm.counters.timesteps, fake.algorithm.metrics()["steps"]) == (60, 40)


def test_the_time_limit_adapts(make):
    fake = make(time_limit="adaptive:10,0.5,1.5", time_limit_max=20)
    limits = []
    for length in (10, 9, 15, 20, 20):
        limits.append(fake.algorithm.state.limit)
        generation(fake, lambda parameters: 0.0, length=length)
    assert limits == [10, 15, 15, 20, 20]  # 22 is above the highest


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"population": 3}, "population must be even"),
        ({"time_limit": "adaptive:10,2,1.5"}, r"time_limit must be .* not 'adaptive:10,2,1.5'"),
        ({"time_limit": "mean:x"}, "time_limit must be"),
    ],
)
def test_settings_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(UsageError, match=message):
        resolve(OpenAIESSettings, "Hopper-v5", {}, changes)


def test_a_table_shorter_than_the_policy_is_refused(make):
    with pytest.raises(UsageError, match=r"noise_table .*3 parameters"):
        make(noise_table=2)


CODE = {"population": 8, "timesteps_per_batch": 300, "noise_table": 100_000, "mean_share": 0.3}


def test_the_public_codes_way_counts_every_step_once_and_goes_on(tmp_path):
    cell = make_cell("openai-es", tmp_path, preset="code", settings=CODE, steps=3000)
    assert run(cell, processes=2) == 0
    check_counts(cell)
    kinds = {row["kind"] for row in rows(cell.directory, "episodes.csv")}
    assert kinds == {"es", "unperturbed"}


@pytest.mark.parametrize("simulated", [False, True])
def test_an_interrupted_run_that_discards_goes_on(tmp_path, simulated):
    cell = make_cell("openai-es", tmp_path / "parts", preset="code", settings=CODE, simulated_time=simulated)
    assert run(interrupt(cell, 5, 30)) == 0
    check_counts(cell)
    if simulated:
        whole = make_cell("openai-es", tmp_path / "whole", preset="code", settings=CODE, simulated_time=True)
        assert run(whole) == 0
        assert all_rows(cell.directory) == all_rows(whole.directory)


@pytest.mark.slow
def test_it_balances_the_pendulum(tmp_path):
    settings = {"hidden": (64, 64), "sigma": 0.1, "learning_rate": 0.05}
    cell = make_cell("openai-es", tmp_path, steps=60_000, settings=settings, eval_freq=60_000)
    assert run(cell) == 0
    assert float(rows(cell.directory, "eval.csv")[-1]["return_mean"]) == 1000


@pytest.mark.parametrize("processes", [1, 3])
def test_episodes_of_the_mean_are_waited_for_whoever_is_faster(tmp_path, processes):
    """With the budget reached by one of them, the number of processes decides nothing."""
    settings = {"population": 2, "hidden": (4,), "mean_share": 1.0, "timesteps_per_batch": 600}
    env_settings = {"lengths": "geometric", "mean_length": 60, "seconds_per_step": 0.002}
    cells = [
        make_cell("openai-es", tmp_path / str(n), env="erlbench/Latency-v0", steps=81, settings=settings,
                  env_settings=env_settings, eval_episodes=1, final_episodes=1) for n in (0, processes)
    ]  # fmt: skip
    assert [run(cell, processes=n) for cell, n in zip(cells, (0, processes), strict=True)] == [0, 0]
    assert all_rows(cells[0].directory) == all_rows(cells[1].directory)


def test_a_generation_has_at_least_its_batch_of_steps():
    settings = resolve(OpenAIESSettings, "Hopper-v5", {}, {"timesteps_per_batch": 1_000_000})
    assert OpenAIES.needs(settings, problem("Hopper-v5")).steps == 1_000_000
