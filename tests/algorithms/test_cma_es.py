"""CMA-ES: means against pycma driven directly, constants, ranking, memory, start states, and exact replay."""

import math
import warnings

import cma
import numpy as np
import pytest
from cma.restricted_gaussian_sampler import GaussVDSampler, GaussVkDSampler
from numpy.testing import assert_array_equal

from erlbench.algorithms.cma_es import CMAES, CMAESSettings
from erlbench.algorithms.search import pycma
from erlbench.algorithms.search.pycma import FULL_LIMIT, choose_covariance, default_population, full_memory, losses
from erlbench.errors import UsageError
from erlbench.policy import initial_parameters, parameter_count
from erlbench.work.seeding import Purpose, generator

from .fake import ACTION, OBSERVATION, check_replay, played, sphere

SEED = 5
HIDDEN = (9,)  # 37 parameters
WIDE = (80,)  # 321 parameters: pycma takes two-point step-size adaptation from 300 on


@pytest.fixture
def fake(new_fake):
    return lambda **settings: new_fake(CMAES, CMAESSettings(**settings), seed=SEED, total=10**9)


OPTIONS = {
    "full": dict,
    "diagonal": lambda: {"CMA_diagonal": True},
    "vd": GaussVDSampler.extend_cma_options,
    "vkd": GaussVkDSampler.extend_cma_options,
}


@pytest.mark.parametrize("hidden", [HIDDEN, WIDE])
@pytest.mark.parametrize("covariance", OPTIONS)
def test_means_on_the_sphere_are_those_of_pycma(fake, covariance, hidden):
    """Of a pycma with the suite's random numbers."""
    sizes, streams = (OBSERVATION, *hidden, ACTION), [generator(SEED, Purpose.NOISE, 0)]
    noise = {"randn": lambda *shape: streams[-1].standard_normal(shape)}
    options = OPTIONS[covariance]() | noise | {"verbose": -9, "seed": np.nan}
    if "CMA_sampler" in options:
        options["CMA_sampler_options"] = noise
    start = initial_parameters(sizes, (SEED, Purpose.PARAMETERS))
    es = cma.CMAEvolutionStrategy(start.astype(float), 0.2, options)
    ours = fake(hidden=hidden, covariance=covariance, sigma_init=0.2)
    assert_array_equal(ours.reported, start)
    for g in range(40):
        streams.append(generator(SEED, Purpose.NOISE, g + 1))
        samples = es.ask()
        es.tell(samples, [sphere(x.astype(np.float32)) for x in samples])
        individuals = played(ours)
        assert len(individuals) == es.popsize == default_population(parameter_count(sizes))
        assert_array_equal(individuals, np.asarray(samples, np.float32))
        assert_array_equal(ours.reported, es.mean)
        assert_array_equal(ours.store.load(ours.algorithm.policy()), es.mean.astype(np.float32))
        assert ours.algorithm.metrics()["sigma"] == es.sigma


def test_the_loss_of_an_individual_is_the_number_of_better_ones(fake):
    assert losses([1.0, 3.0, 3.0, 2.0]).tolist() == [3, 0, 0, 2]
    assert losses([math.nan, -5.0, math.inf, 2.0, -math.inf]).tolist() == [2, 1, 2, 0, 2]
    ours = fake(hidden=())
    played(ours, lambda x: math.nan)
    assert np.isfinite(ours.reported).all()


def test_the_covariance_fits_the_size(monkeypatch):
    assert [choose_covariance("auto", size) for size in (FULL_LIMIT, FULL_LIMIT + 1)] == ["full", "diagonal"]
    assert full_memory(6536) == 8 * 8 * 6536**2
    monkeypatch.setattr(pycma, "available_memory", lambda: 2 * 2**30)
    with pytest.raises(UsageError, match=r"6536 parameters needs 2\.5 GiB .* 2\.0 GiB .* covariance=diagonal"):
        choose_covariance("full", 6536)
    monkeypatch.setattr(pycma, "available_memory", lambda: 4 * 2**30)
    assert choose_covariance("full", 6536) == "full"
    monkeypatch.setattr(pycma, "available_memory", lambda: 0.0)
    assert choose_covariance("diagonal", 10**7) == "diagonal"
    for name in ("vd", "vkd"):
        with pytest.raises(UsageError, match=r"10 parameters.* 3; .*covariance=full"):
            choose_covariance(name, 3)


@pytest.mark.parametrize("hidden", [HIDDEN, WIDE])
def test_equal_returns_do_not_end_the_run(fake, hidden):
    ours = fake(hidden=hidden, covariance="diagonal")
    for _ in range(50):
        assert played(ours, lambda x: 1000.0)
    assert 0.01 < ours.algorithm.metrics()["sigma"] < 1.0


@pytest.mark.parametrize("hidden", [HIDDEN, WIDE])
@pytest.mark.parametrize("covariance", OPTIONS)
def test_replay_continues_bit_by_bit(fake, tmp_path, covariance, hidden):
    settings = {"hidden": hidden, "covariance": covariance, "population": 6}
    first, second = fake(**settings), fake(**settings)
    for _ in range(35):
        played(first)
    check_replay(first, second, tmp_path / "checkpoint", more=14)


def test_pycma_neither_touches_the_global_generator_nor_writes_nor_prints(fake, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    before = np.random.get_state()  # noqa: NPY002
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for covariance in OPTIONS:
            ours = fake(hidden=WIDE, covariance=covariance)
            for _ in range(8):
                played(ours)
    for old, new in zip(before, np.random.get_state()):  # noqa: NPY002
        assert_array_equal(old, new)
    assert {path.name for path in tmp_path.iterdir()} == {"0", "1", "2", "3"}
    assert capsys.readouterr().out == ""
