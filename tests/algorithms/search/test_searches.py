"""One update of each search against a float64 computation of its own, and what trained individuals do to it."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from erlbench.algorithms.ars import ARS
from erlbench.algorithms.ga import GA
from erlbench.algorithms.hybrid import search_alone
from erlbench.algorithms.pgpe import PGPE
from erlbench.algorithms.search.cem import CEMSearch
from erlbench.algorithms.search.none import NoSearch
from erlbench.algorithms.search.openai_es import OpenAIESSearch
from erlbench.algorithms.search.optimisers import ClipUp
from erlbench.algorithms.search.search import Individual, SearchContext, shortened
from erlbench.algorithms.search.search_distribution import ranking
from erlbench.algorithms.snes import SNES, utilities
from erlbench.errors import UsageError
from erlbench.policy import PolicySpec
from erlbench.work.store import Store

POLICY = PolicySpec((4, 20, 2), "tanh", (-1.0, -1.0), (1.0, 1.0))
SIZE = POLICY.learnt_size
NORMALISED = PolicySpec((4, 20, 2), "tanh", (-1.0, -1.0), (1.0, 1.0), normalisation=True)


@pytest.fixture
def make():
    """Makes searches that start at seeded normal numbers."""
    store, numbers = Store.create(), itertools.count()

    def new(kind, injected=None, policy=POLICY, **settings):
        mean = np.random.default_rng(7).normal(size=policy.size).astype(np.float32)
        mean[policy.learnt_size :] = np.repeat((0.0, 1.0), policy.sizes[0])[: policy.size - policy.learnt_size]
        context = SearchContext(
            policy, mean, store, lambda array: store.put(f"{next(numbers)}.shared", array), injected
        )
        return kind(kind.settings_type(**settings), context)

    yield new
    store.close()


def generation(search, number=0):
    return search.generation(lambda index: (5, number, index))


def told(search, fitness, number=0):
    """Tell a generation of samples; their vectors, float64 `(n, P)`, as they were."""
    individuals = [Individual(z=z, fitness=f) for z, f in zip(generation(search, number), fitness, strict=True)]
    vectors = np.array([search.load(each.z) for each in individuals])
    search.tell(individuals)
    return vectors


def test_snes_is_algorithm_6(make):
    search = make(SNES, population=5, initial_variance=0.04)
    mean, fitness = search.state.distribution.mean, (1.0, 9.0, 3.0, -2.0, 4.0)
    z = told(search, fitness)
    u = np.array([max(0.0, math.log(3.5) - math.log(k)) for k in range(1, 6)])
    u = u / u.sum() - 0.2
    s = (z[[1, 4, 2, 0, 3]] - mean) / 0.2
    eta = (3 + math.log(SIZE)) / (5 * math.sqrt(SIZE))
    assert_allclose(search.state.distribution.mean, mean + 0.2 * u @ s, rtol=1e-6, atol=1e-7)
    assert_allclose(np.sqrt(search.state.distribution.variance), 0.2 * np.exp(eta / 2 * u @ (s**2 - 1)), rtol=1e-6)
    assert search.state.elites == [1, 4]


def test_cem_s_rank_move_shortens_trained_individuals_where_asked(make):
    search = make(CEMSearch, injected="hansen", population=4, elites=2, recombination="ranks")
    mean, std = search.state.distribution.mean, math.sqrt(1e-3)
    individuals = [Individual(z=z, fitness=f) for z, f in zip(generation(search), (4.0, 3.0, 2.0, 1.0))]
    moves = [search.load(each.z) - mean for each in individuals]
    moves[0] = np.full(SIZE, 9.0)
    individuals[0] = Individual(z=search.share_policy(mean + moves[0]), fitness=4.0, injected=True)
    search.tell(individuals)
    moves[0] *= std * (math.sqrt(SIZE) + 2 * SIZE / (SIZE + 2)) / np.linalg.norm(moves[0])
    expected = mean + np.array([1, 1 / 3, -1 / 3, -1]) @ moves / (4 / 3)
    assert_allclose(search.state.distribution.mean, expected, rtol=1e-5, atol=1e-6)


def test_ga_s_elite_plays_also_with_vectors_from_outside(make):
    search = make(GA, population=6, parents=2)
    for outside in ((), (search.share_policy(np.ones(SIZE)),)):
        individuals = search.generation(lambda index: (5, 0, index), outside, 2 * outside)
        assert [each == search.mean_ref for each in individuals].index(True) == 5 - 2 * len(outside)
        assert [getattr(each, "centre", None) in outside for each in individuals].count(True) == 3 * len(outside)


def test_a_search_without_a_population_is_refused():
    with pytest.raises(UsageError, match="NoSearch has neither"):
        NoSearch.count_population(object())


def test_settings_that_cannot_get_those_of_a_search_alone_are_named():
    @dataclass(frozen=True)
    class Positional:
        population: int

    with pytest.raises(UsageError, match=r"search 'Mine': .*kw_only"):
        search_alone(type("Mine", (CEMSearch,), {"settings_type": Positional}))


def test_ties_share_their_utilities():
    assert_allclose(utilities([2.0, 2.0, 2.0, 2.0]), 0.0, atol=1e-15)
    first, second, third = utilities([3.0, 1.0, 3.0])
    assert first == third == pytest.approx(-second / 2)
    assert_array_equal(utilities([1.0, math.nan, 0.0]), utilities([1.0, 0.0, 0.0]))


def test_ars_is_algorithm_2(make):
    search = make(ARS, directions=4, top=2, step_size=0.3, nu=0.1)
    mean, returns = search.state.mean, np.array([[1.0, 4.0], [9.0, 2.0], [0.0, 3.0], [5.0, 6.0]])
    z = told(search, returns.ravel())
    delta = (z[::2] - mean) / 0.1
    kept = [1, 3]  # the best of each pair: 4, 9, 3, 6; the median is 5
    sigma = np.std([9.0, 2.0, 5.0, 6.0])
    expected = mean + 0.3 / (2 * sigma) * sum((returns[k, 0] - returns[k, 1]) * delta[k] for k in kept)
    assert_allclose(search.state.mean, expected, rtol=1e-5, atol=1e-6)
    assert (search.state.sigma_r, search.state.elites) == (pytest.approx(sigma), [2, 7])
    before = search.state.mean
    told(search, [1.0] * 8)  # equal returns say nothing
    assert_array_equal(search.state.mean, before)


def test_ars_normalises_by_the_states_of_earlier_iterations(make):
    search = make(ARS, policy=NORMALISED, directions=1, top=1)
    observations = np.array([[1.0, 2.0, 5.0, 0.0], [3.0, 2.0, 4.0, 0.0], [8.0, 2.0, 3.0, 0.0]])
    before = search.state.policy
    search.observed(3, np.stack((observations.sum(0), (observations**2).sum(0))))
    assert search.state.policy == before
    told(search, [1.0, 0.0])
    vector = search.context.store.get(search.state.policy)[SIZE:].reshape(2, 4)
    assert_allclose(vector[0], observations.mean(0), rtol=1e-6)
    assert_allclose(vector[1, ::2], [observations[:, 0].std(ddof=1), 1.0], rtol=1e-6)
    assert np.isfinite(vector).all()  # else no episode plays it
    assert (np.abs(1.0 / vector[1, 1::2]) < 1e-38).all()


def test_pgpe_is_that_of_the_public_code(make):
    search = make(PGPE, population=6, radius=0.5, max_speed=1.0, step_size=0.5, momentum=0.9)
    mean, velocity = search.state.mean, np.zeros(SIZE)
    assert_allclose(search.state.std, 0.5 / math.sqrt(SIZE))
    for step in range(2):
        std = search.state.std
        fitness = np.array([1.0, 9.0, 3.0, -2.0, 4.0, 5.0])
        z = told(search, fitness, step)
        w = (np.argsort(np.argsort(fitness)) / 5 - 0.5).reshape(3, 2)
        noise = z[::2] - mean  # sigma e
        slope = sum(0.5 * (w[k, 0] - w[k, 1]) * noise[k] for k in range(3)) / 3
        growth = sum((0.5 * (w[k, 0] + w[k, 1]) - w.mean()) * (noise[k] ** 2 - std**2) / std for k in range(3)) / 3
        velocity = 0.5 * slope / np.linalg.norm(slope) + 0.9 * velocity
        velocity *= min(1.0, 1.0 / np.linalg.norm(velocity))
        assert_allclose(search.state.mean, mean + velocity, rtol=1e-5, atol=1e-5)
        assert_allclose(search.state.std, std + np.clip(0.1 * growth, -0.2 * std, 0.2 * std), rtol=1e-5, atol=1e-7)
        mean = search.state.mean


def test_clipup_bounds_the_speed_and_survives_a_zero_gradient():
    optimiser, moments = ClipUp(0.3, 0.4, 0.5), ClipUp(0.3, 0.4, 0.5).start(2)
    assert_array_equal(optimiser.step(moments, np.zeros(2)), np.zeros(2))
    assert_allclose(optimiser.step(moments, np.array([0.0, 7.0])), [0.0, 0.3])
    assert_allclose(optimiser.step(moments, np.array([0.0, 1e-9])), [0.0, 0.4])
    assert_allclose(optimiser.step(moments, np.zeros(2)), [0.0, 0.2])


def test_ga_keeps_its_elite_and_mutates_the_best(make):
    search = make(GA, population=4, parents=2, mutation_stdev=0.1)
    first = search.context.store.get(search.mean_ref)
    z = told(search, [3.0, 1.0, 5.0, 4.0])
    assert_array_equal(z[3], first)
    assert_array_equal(search.context.store.get(search.mean_ref), z[2].astype(np.float32))
    parents = search.state.parents
    assert len(parents) == 2
    children = generation(search, 1)
    assert children[-1] == parents[0]
    assert {child.centre for child in children[:-1]} <= set(parents)
    drawn = {search.sample((1, 2, number)).centre for number in range(20)}
    assert drawn == set(parents)
    search.tell([Individual(z=z, fitness=5.0) for z in children])
    assert search.mean_ref == parents[0]  # a tie changes no elite


def test_openai_es_is_its_algorithm_2_with_adam(make):
    """The first step of Adam is a sign: of the decay where that is larger than the slope."""
    search = make(OpenAIESSearch, population=4, sigma=0.1, learning_rate=0.2, l2=0.5)
    mean = search.state.mean
    z = told(search, [1.0, 2.0, 7.0, 3.0])
    slope = np.array([-0.5, -1 / 6, 0.5, 1 / 6]) @ (z - mean) / (4 * 0.1) - 0.5 * mean
    step = 0.2 * slope / (np.abs(slope) + 1e-8 / math.sqrt(1e-3))
    assert_allclose(search.state.mean - mean, step, rtol=1e-3)


def test_without_selection_the_mean_follows_the_average_whatever_the_fitness(make):
    search = make(NoSearch, population=4)
    variance = search.state.distribution.variance
    z = told(search, [1.0, math.nan, 7.0, 3.0])
    assert_allclose(search.state.distribution.mean, z.mean(0), atol=1e-7)
    assert search.state.distribution.variance is variance


def pushed(search, fitness, count, step):
    """A generation whose first `count` were trained by the same step; the displacements, `(n, P)`, of all."""
    mean, individuals = search.load(search.mean_ref), []
    for index, (z, f) in enumerate(zip(generation(search), fitness, strict=True)):
        trained = index < count
        vector = search.context.share((search.load(z) + step).astype(np.float32)) if trained else z
        individuals.append(Individual(z=vector, fitness=f, injected=trained))
    moves = np.array([search.load(each.z) - mean for each in individuals])
    search.tell(individuals)
    return moves


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (SNES, {"population": 10, "initial_variance": 1e-3}),
        (CEMSearch, {"population": 10}),
        (PGPE, {"population": 10, "radius": math.sqrt(SIZE * 1e-3)}),
        (OpenAIESSearch, {"population": 10}),
        (ARS, {"directions": 5, "top": 5}),
    ],
)
def test_trained_individuals_move_the_mean_by_where_they_are(kind, settings, make):
    """Not by the noise that they were sampled with: a pair that is trained in one direction draws the mean there."""
    search = make(kind, **settings)
    mean, towards = search.load(search.mean_ref), np.ones(SIZE)
    pushed(search, 10.0 - np.arange(10), 4, 1.0)
    move = search.load(search.mean_ref) - mean
    assert move @ towards / (np.linalg.norm(move) * np.linalg.norm(towards)) > 0.9


def test_pgpe_s_deviations_follow_the_samples_by_their_own_ranks_within_a_bound(make):
    search = make(PGPE, population=6, radius=0.5, stdev_learning_rate=3.0)
    std = search.state.std
    d = pushed(search, [9.0, 8.0, 1.0, 2.0, 4.0, 3.0], 2, 0.05)[2:]
    w = np.array([-0.5, -1 / 6, 0.5, 1 / 6])
    growth = 3.0 * w @ ((d**2 - std**2) / std) / 4
    assert (np.abs(growth) > 0.2 * std).any()
    assert_allclose(search.state.std, std + np.clip(growth, -0.2 * std, 0.2 * std), rtol=1e-5)


def test_a_shortened_vector_has_at_most_the_length_of_a_long_sample():
    std = np.full(100, 0.1)
    long, short = shortened(np.ones(100), std), shortened(np.full(100, 0.05), std)
    assert np.linalg.norm(long / std) == pytest.approx(10 + 200 / 102)
    assert_array_equal(short, np.full(100, 0.05))


@pytest.mark.parametrize("recombination", ["log", "equal", "ranks"])
def test_cem_moves_to_its_elites_and_spreads_around_the_old_mean(recombination, make):
    """Centred ranks are 1, 1/3, -1/3, -1, of which the positive ones sum to one."""
    settings = {"population": 4, "elites": 2, "recombination": recombination}
    search, whole = (make(CEMSearch, **settings, extra_ke_division=more) for more in (True, False))
    mean = search.load(search.mean_ref)
    first, second, third, fourth = told(search, (1.0, 7.0, 7.5, -2.0))[[2, 1, 0, 3]]
    weights = np.array([0.5, 0.5] if recombination == "equal" else [np.log(3.0), np.log(1.5)])
    weights /= weights.sum()
    expected = weights[0] * first + weights[1] * second
    if recombination == "ranks":
        expected = mean + 0.75 * (first - mean) + 0.25 * (second - third) - 0.75 * (fourth - mean)
    assert_allclose(search.state.distribution.mean, expected, atol=1e-9)
    spread, epsilon = weights[0] * (first - mean) ** 2 + weights[1] * (second - mean) ** 2, 0.95 * 1e-3 + 0.05 * 1e-5
    assert_allclose(search.state.distribution.variance, spread / 2 + epsilon)
    told(whole, (1.0, 7.0, 7.5, -2.0))
    assert_allclose(whole.state.distribution.variance, spread + epsilon)


def test_ranking_keeps_the_order_of_ties_and_puts_broken_values_last():
    assert ranking([1.0, 3.0, 3.0, 2.0, 3.0]) == [1, 2, 4, 3, 0]
    assert ranking([math.nan, -5.0, math.inf, 2.0, -math.inf]) == [3, 1, 0, 2, 4]
