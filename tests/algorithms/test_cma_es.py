"""CMA-ES: means against pycma driven directly, constants, ranking, memory, start states, and exact replay."""

import math
import warnings

import cma
import numpy as np
import pytest
from cma.restricted_gaussian_sampler import GaussVDSampler, GaussVkDSampler

from erlbench.algorithms.cma_es import CMAES, CMAESSettings
from erlbench.algorithms.search.pycma import (
    FULL_LIMIT,
    Strategy,
    choose_covariance,
    default_population,
    full_memory,
    losses,
)
from erlbench.envs.registry import problem
from erlbench.errors import CellError, UsageError
from erlbench.policy import NumpyPolicy, PolicySpec, initial_parameters, parameter_count
from erlbench.running.checkpoint import load_checkpoint, save_checkpoint
from erlbench.work.rollout import RolloutSettings, rollout
from erlbench.work.seeding import Purpose, generator
from erlbench.work.workspace import Workspace

from .fake import ACTION, OBSERVATION

SEED = 5
HIDDEN = (9,)  # 37 parameters
WIDE = (80,)  # 321 parameters: pycma takes two-point step-size adaptation from 300 on


@pytest.fixture
def fake(new_fake):
    return lambda **settings: new_fake(CMAES, CMAESSettings(**settings), seed=SEED, total=10**9)


def sphere(x):
    return float(np.sum((x.astype(np.float64) - 0.3) ** 2))


def generation(fake, fitness=lambda x: -sphere(x)):
    """Play one generation; the individuals."""
    individuals = [(task, fake.input(task, "parameters")) for task in fake.ask()]
    for task, x in individuals:
        fake.finish(task, fitness(x))
    return [x for _, x in individuals]


class Noise:
    """The same stream as the suite's, for a pycma of our own."""

    def __init__(self):
        self.random = generator(SEED, Purpose.NOISE, 0)

    def __call__(self, *shape):
        return self.random.standard_normal(shape)


OPTIONS = {
    "full": dict,
    "diagonal": lambda: {"CMA_diagonal": True},
    "vd": GaussVDSampler.extend_cma_options,
    "vkd": GaussVkDSampler.extend_cma_options,
}


@pytest.mark.parametrize("hidden", [HIDDEN, WIDE])
@pytest.mark.parametrize("covariance", OPTIONS)
def test_means_on_the_sphere_are_those_of_pycma(fake, covariance, hidden):
    sizes, noise = (OBSERVATION, *hidden, ACTION), Noise()
    options = OPTIONS[covariance]() | {"verbose": -9, "randn": noise, "seed": np.nan}
    if "CMA_sampler" in options:
        options["CMA_sampler_options"] = {"randn": noise}
    start = initial_parameters(sizes, (SEED, Purpose.PARAMETERS))
    es = cma.CMAEvolutionStrategy(start.astype(float), 0.2, options)
    ours = fake(hidden=hidden, covariance=covariance, sigma_init=0.2)
    np.testing.assert_array_equal(ours.algorithm.state.reported, start)
    for g in range(40):
        noise.random = generator(SEED, Purpose.NOISE, g + 1)
        samples = es.ask()
        es.tell(samples, [sphere(x.astype(np.float32)) for x in samples])
        individuals = generation(ours)
        assert len(individuals) == es.popsize == default_population(parameter_count(sizes))
        np.testing.assert_array_equal(individuals, np.asarray(samples, np.float32))
        np.testing.assert_array_equal(ours.algorithm.state.reported, es.mean)
        np.testing.assert_array_equal(ours.store.load(ours.algorithm.policy()), es.mean.astype(np.float32))
        assert ours.algorithm.metrics()["sigma"] == es.sigma
    assert sphere(es.mean) < sphere(start)


def test_constants_of_twenty_parameters_and_twelve_individuals():
    """Tutorial, table 1, with pycma's c_sigma (N + mu_eff + 3 in place of + 5) and rank-mu offset of 1/4."""
    assert default_population(20) == 12
    es = Strategy(np.zeros(20), 1.0, 12, "full", generator)._es
    sp = es.sp
    raw = math.log(6.5) - np.log(np.arange(1, 7))
    weights = raw / raw.sum()
    mueff = 1 / np.sum(weights**2)
    c1 = 2 / ((20 + 1.3) ** 2 + mueff)
    cmu = 2 * (mueff - 2 + 1 / mueff + 0.25) / ((20 + 2) ** 2 + mueff)
    assert sp.weights.mu == 6
    np.testing.assert_allclose(sp.weights.positive_weights, weights)
    assert mueff == pytest.approx(3.729458934303068)
    assert sp.weights.mueff == pytest.approx(mueff)
    assert sp.c1 == pytest.approx(c1)
    assert sp.cmu == pytest.approx(cmu)
    assert sp.cc == pytest.approx((4 + mueff / 20) / (20 + 4 + 2 * mueff / 20))
    c_sigma = (mueff + 2) / (20 + mueff + 3)
    assert es.adapt_sigma.cs == pytest.approx(c_sigma)
    assert es.adapt_sigma.damps == pytest.approx(1 + 2 * max(0, math.sqrt((mueff - 1) / 21) - 1) + c_sigma)
    assert es.const.chiN == pytest.approx(math.sqrt(20) * (1 - 1 / 80 + 1 / (21 * 400)))


def test_the_best_return_has_the_smallest_loss_and_ties_are_equal():
    assert losses([1.0, 3.0, 3.0, 2.0]).tolist() == [3, 0, 0, 2]
    assert losses([0.0] * 5).tolist() == [0] * 5


def test_broken_returns_are_the_worst():
    assert losses([math.nan, -5.0, math.inf, 2.0, -math.inf]).tolist() == [2, 1, 2, 0, 2]


def test_returns_are_maximised(fake):
    ours = fake(hidden=(), sigma_init=0.5)
    for _ in range(60):
        generation(ours)
    assert sphere(ours.algorithm.state.reported) < 1e-3
    assert ours.algorithm.metrics()["fitness_best"] > -1e-2


def test_a_generation_with_broken_returns_goes_on(fake):
    ours = fake(hidden=())
    generation(ours, lambda x: math.nan)
    assert math.isnan(ours.algorithm.metrics()["fitness_best"])
    generation(ours, lambda x: math.nan if x[0] > 0 else -sphere(x))
    assert np.isfinite(ours.algorithm.state.reported).all()


@pytest.mark.parametrize("hidden", [HIDDEN, WIDE])
def test_equal_returns_do_not_end_the_run(fake, hidden):
    ours = fake(hidden=hidden, covariance="diagonal")
    for _ in range(50):
        assert generation(ours, lambda x: 1000.0)
    assert 0.01 < ours.algorithm.metrics()["sigma"] < 1.0


def test_auto_is_full_for_small_policies_and_diagonal_for_large():
    assert choose_covariance("auto", 18) == "full"
    assert choose_covariance("auto", FULL_LIMIT) == "full"
    assert choose_covariance("auto", FULL_LIMIT + 1) == "diagonal"


def test_a_full_matrix_that_does_not_fit_is_refused():
    assert full_memory(6536) == 8 * 8 * 6536**2
    with pytest.raises(UsageError, match=r"6536 parameters needs 2\.5 GiB .* 2\.0 GiB .* covariance=diagonal"):
        choose_covariance("full", 6536, lambda: 2 * 2**30)
    assert choose_covariance("full", 6536, lambda: 4 * 2**30) == "full"
    assert choose_covariance("diagonal", 10**7, lambda: 0.0) == "diagonal"


def test_a_network_too_large_for_its_covariance_is_refused_before_anything_is_allocated(fake):
    with pytest.raises(UsageError, match="covariance=diagonal"):
        fake(hidden=(2000, 2000), covariance="full")


@pytest.mark.parametrize("covariance", ["vd", "vkd"])
def test_restricted_covariances_want_ten_parameters(fake, covariance):
    with pytest.raises(UsageError, match=r"10 parameters.* 3; .*covariance=full"):
        fake(hidden=(), covariance=covariance)


def test_smallest_population_and_given_population(fake):
    for population in (4, 5, 50):
        ours = fake(hidden=(), population=population)
        for _ in range(5):
            assert len(generation(ours)) == population


def test_start_states(fake):
    def seeds(**settings):
        ours = fake(hidden=(), episodes=2, population=4, **settings)
        found = []
        for _ in range(2):
            tasks = ours.ask()
            assert {task.settings.episodes for task in tasks} == {2}
            found.append([task.settings.seeds for task in tasks])
            for task in tasks:
                ours.finish(task, 1.0)
        return found

    assert seeds() == [[()] * 4] * 2
    first, second = seeds(start_states="generation")
    assert len(set(first)) == len(set(second)) == 1
    assert len({*first[0], *second[0]}) == 4
    first, second = seeds(start_states="fixed")
    assert first == second
    assert len(set(first)) == 1


def test_a_linear_policy_plays(fake):
    ours = fake(hidden=())
    assert ours.algorithm.policy_spec.size == parameter_count((OBSERVATION, ACTION)) == 3
    env = problem("Pendulum-v1")
    spec = PolicySpec((3, 1), "tanh", env.action_low, env.action_high)
    x = np.array([0.1, 0.2, 0.3, -0.4], np.float32)
    observation = np.array([1.0, 2.0, -1.0])
    assert NumpyPolicy(spec, x).normalised(observation)[0] == pytest.approx(math.tanh(0.1 + 0.4 - 0.3 - 0.4))
    outcome = rollout(RolloutSettings(env.env, spec), {"parameters": x}, (1, 2), Workspace(ours.store))
    assert outcome.values["lengths"] == [200]


@pytest.mark.parametrize("hidden", [HIDDEN, WIDE])
@pytest.mark.parametrize("covariance", OPTIONS)
def test_replay_continues_bit_by_bit(fake, tmp_path, covariance, hidden):
    settings = {"hidden": hidden, "covariance": covariance, "population": 6}
    whole, first, second = fake(**settings), fake(**settings), fake(**settings)
    for _ in range(50):
        generation(whole)
    for _ in range(35):
        generation(first)
    tasks = first.ask()
    for task in tasks[:2]:
        first.finish(task, -sphere(first.input(task, "parameters")))
    path = save_checkpoint(tmp_path / "checkpoint", first.algorithm.snapshot(), {})
    second.algorithm.restore(load_checkpoint(path)[0])
    for task in tasks[2:]:
        second.open[task.id] = task
        second.finish(task, -sphere(first.input(task, "parameters")))
    for _ in range(14):
        generation(second)
    np.testing.assert_array_equal(second.algorithm.state.reported, whole.algorithm.state.reported)
    assert second.algorithm.metrics() == whole.algorithm.metrics()


def test_a_replay_that_gives_another_mean_is_noticed(fake):
    ours = fake(hidden=())
    generation(ours)
    snapshot = ours.algorithm.snapshot()
    snapshot["state"].reported[0] += 1e-15
    with pytest.raises(CellError, match="start anew by --force"):
        ours.algorithm.restore(snapshot)


def test_pycma_neither_touches_the_global_generator_nor_writes_nor_prints(fake, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    before = np.random.get_state()  # noqa: NPY002
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for covariance in OPTIONS:
            ours = fake(hidden=WIDE, covariance=covariance)
            for _ in range(8):
                generation(ours)
    for old, new in zip(before, np.random.get_state()):  # noqa: NPY002
        np.testing.assert_array_equal(old, new)
    assert {path.name for path in tmp_path.iterdir()} == {"0", "1", "2", "3"}
    assert capsys.readouterr().out == ""
