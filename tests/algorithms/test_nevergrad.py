"""nevergrad: sequences against nevergrad driven directly, batches and generations, replay, names, GoodAI's presets."""

import math

import cma
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from erlbench.algorithms.nevergrad import Nevergrad, NevergradSettings
from erlbench.algorithms.search.nevergrad_search import NevergradSearch
from erlbench.errors import UsageError
from erlbench.policy import initial_policy
from erlbench.work.seeding import Purpose, generator
from tests.algorithms.fake import check_replay, played, sphere
from tests.calls import refuse
from tests.tables import cells

SEED = 5


@pytest.fixture
def fake(new_fake):
    def make(**settings):
        return new_fake(Nevergrad, NevergradSettings(**{"hidden": (9,)} | settings), seed=SEED, total=10**9)

    return make


@pytest.mark.parametrize(
    "name", ["CMA", "DiagonalCMA", "ES", "DE", "TwoPointsDE", "PSO", "TBPSA", "OnePlusOne", "NGOpt"]
)
def test_candidates_on_the_sphere_are_those_of_nevergrad_alone(name, fake):
    """With the suite's random numbers."""
    import nevergrad

    ours = fake(optimizer=name, population=14, batch=7, budget=280, sigma_init=0.2, report="recommendation")
    centre = initial_policy(ours.algorithm.policy_spec, (SEED, Purpose.PARAMETERS))
    assert_array_equal(ours.reported, centre)
    parametrization = nevergrad.p.Array(init=centre.astype(np.float64)).set_mutation(sigma=0.2)
    parametrization.random_state = np.random.RandomState(generator(SEED, Purpose.NOISE).bit_generator)
    theirs = nevergrad.optimizers.registry[name](parametrization, 280, 7)
    for _ in range(20):
        for _ in range(2):
            asked = [theirs.ask() for _ in range(7)]
            found = played(ours, backwards=True)
            assert_array_equal(found, np.array([x.value for x in asked], np.float32))
            for candidate in asked:
                theirs.tell(candidate, sphere(candidate.value.astype(np.float32)))
        recommended = theirs.recommend().value.astype(np.float32)
        assert_array_equal(ours.store.load(ours.algorithm.policy()), recommended)
    assert ours.algorithm.counters.generation == 20


def test_cma_reports_the_mean_or_the_best_candidate_ever(fake):
    means, bests = fake(sigma_init=0.2), fake(sigma_init=0.2, report="recommendation")
    seen = []
    for _ in range(5):
        candidates = played(means)
        assert_array_equal(played(bests), candidates)
        seen += candidates
    es = means.algorithm._search._strategy
    assert isinstance(es, cma.CMAEvolutionStrategy)
    centre = initial_policy(means.algorithm.policy_spec, (SEED, Purpose.PARAMETERS))
    assert_allclose(means.reported, centre + 0.2 * es.mean, rtol=1e-12)
    assert means.algorithm.metrics()["sigma"] == pytest.approx(0.2 * es.sigma)
    assert_allclose(bests.reported, min(seen, key=sphere), atol=1e-6)
    assert not np.allclose(means.reported, bests.reported)


def test_a_generation_is_complete_after_its_evaluations_whatever_the_batches(fake):
    ours = fake(optimizer="ES", population=20, batch=8)
    assert [len(played(ours)) for _ in range(6)] == [8, 8, 4] * 2
    assert ours.algorithm.counters.generation == 2
    assert ours.algorithm.metrics()["evaluations"] == 40


def test_returns_that_are_not_finite_are_the_worst(fake):
    ours = fake(population=4)
    values = iter([math.nan, -1.0, math.inf, -3.0])
    played(ours, lambda x: next(values))
    assert ours.algorithm.state.losses[:4].tolist() == [1e20, 1.0, 1e20, 3.0]
    assert ours.algorithm.metrics()["fitness_best"] == -1.0
    assert ours.algorithm.metrics()["fitness_mean"] == -2.0


@pytest.mark.parametrize("name", ["CMA", "CMA2020", "PSO"])
def test_a_restored_search_goes_on_with_the_same_candidates(name, fake, tmp_path):
    settings = {"optimizer": name, "population": 20, "batch": 8}
    first, second = fake(**settings), fake(**settings)
    for _ in range(37):  # in the middle of a generation, and beyond the first capacity of the losses
        played(first)
    check_replay(first, second, tmp_path / "checkpoint")


def test_a_sequential_optimizer_is_asked_for_one_candidate_at_a_time(fake):
    ours = fake(optimizer="SQP", population=3, budget=100)
    assert [len(played(ours)) for _ in range(3)] == [1, 1, 1]
    assert ours.algorithm.counters.generation == 1
    with pytest.raises(UsageError, match="batch and num_workers"):
        fake(optimizer="SQP", batch=2)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ("hidden=4000-4000 --set optimizer=CMA2020", "optimizer=DiagonalCMA"),  # 16 million parameters
        ("optimizer=TwoPointDE", "did you mean 'TwoPointsDE'"),
    ],
)
def test_what_cannot_be_searched_is_refused_before_the_run(changes, words):
    refuse(words, *f"run --algo nevergrad --env HalfCheetah-v5 --dry-run --set {changes}".split())


def test_what_nevergrad_cannot_do_is_a_message():
    search = NevergradSearch("NGOpt", np.zeros(3), 1.0, None, 1, generator(1))
    with pytest.raises(UsageError, match=r"NGOpt cannot be used here: .*need a budget"):
        search.ask(1)


# Size, generations, population, batch: what nevergrad 0.4.0.post3 with pycma 3.0.3 told: how often, how many, at most.
TOLD = """
18   60 20 1  | 100 1200 12
18   60 20 8  | 99  1189 13
18   60 20 20 | 60  1181 20
1361 8  50 1  | 16  400  25
1361 8  50 8  | 15  376  26
"""


@pytest.mark.parametrize(("given", "told"), cells(TOLD))
def test_cma_of_2020_tells_pycma_the_populations_that_it_told_then(monkeypatch, given, told):
    """Today's nevergrad forgets candidates."""
    size, generations, population, batch = map(int, given.split())
    search = NevergradSearch("CMA2020", np.zeros(size), 1.0, 6000, 1, generator(1))
    accepted, tell = [], cma.CMAEvolutionStrategy.tell

    def counted(es, solutions, *more, **options):
        tell(es, solutions, *more, **options)
        accepted.append(len(solutions))

    monkeypatch.setattr(cma.CMAEvolutionStrategy, "tell", counted)
    for _ in range(generations):
        for start in range(0, population, batch):
            search.tell([sphere(x) for x in search.ask(min(batch, population - start))])
    assert [len(accepted), sum(accepted), max(accepted)] == [*map(int, told.split())]
