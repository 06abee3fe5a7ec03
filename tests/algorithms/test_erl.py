"""The generations of ERL and PDERL."""

import numpy as np
import pytest

from erlbench.algorithms.erl import ERL, ERLSettings
from erlbench.algorithms.pderl import PDERL, PDERLSettings
from erlbench.algorithms.search.pderl import latest
from erlbench.algorithms.training.gradient_tasks import critic_of
from erlbench.policy import layer_slices
from erlbench.settings import resolve


def test_the_learner_starts_as_the_public_code_does(context):
    """Last layers times 0.1, not so the individuals'."""
    algorithm = ERL(ERLSettings(hidden=(8,), critic_hidden=(8,)), context)
    load, policy, critic = algorithm.context.store.get, algorithm.policy_spec, critic_of(algorithm)
    learner = load(algorithm.coupling.state.learner)
    q = learner[4 * policy.size :]
    individuals = np.array([load(z) for z in algorithm.search.state.population])
    bound = 8**-0.5  # PyTorch's, of a layer with 8 inputs
    for parameters, sizes, scale in (
        (learner[None], policy.sizes, 0.1),
        (q[None], critic.sizes, 0.1),
        (individuals, policy.sizes, 1.0),
    ):
        weight, bias = layer_slices(sizes)[-1]
        last = np.abs(parameters[:, weight.start : bias.stop]).max()
        assert 0.5 * scale * bound < last <= scale * bound
    assert np.array_equal(learner[: policy.size], learner[policy.size : 2 * policy.size])  # the target's, too
    assert np.array_equal(q[: critic.size], q[critic.size : 2 * critic.size])


SMALL = {"population": 6, "hidden": (4,), "critic_hidden": (4,), "batch_size": 4, "memory": 24, "sync_period": 2}


@pytest.mark.parametrize("pair_fitness", ["code", "elite-fitness"])
def test_children_are_of_the_fittest_pairs_and_the_fitter_parent_is_the_first(pair_fitness, new_fake):
    """Finds pairs by the worse fitness, parents in the other order, a clone that keeps its own fitness or loses it."""
    returns = [1.0, 6.0, 2.0, 5.0, 3.0, 4.0, 0.0]
    fake = new_fake(PDERL, resolve(PDERLSettings, "Fake-v0", {}, SMALL | {"pair_fitness": pair_fitness}))
    for task in fake.ask():
        fake.finish(task, fitness=returns[task.individual])
    state = fake.algorithm.search.state
    population, fitness = state.population, returns[:6]
    (clone,) = (place for place in range(6) if place != 1 and population[place] == population[1])
    if pair_fitness == "elite-fitness":
        fitness[clone] = 6.0
    parents = {place for child in state.children for place in (child.first, child.second)}
    assert parents <= set(range(6)) - {child.place for child in state.children}
    sums = [fitness[child.first] + fitness[child.second] for child in state.children]
    assert sums == sorted(sums, reverse=True)
    assert all(fitness[child.first] >= fitness[child.second] for child in state.children)
    assert clone not in state.mutations
    assert state.memories[clone] == state.memories[1]
    assert fake.algorithm.policy() == population[1]


def test_no_individual_remembers_more_than_its_memory_not_even_the_learners_copy(new_fake):
    settings = resolve(PDERLSettings, "Fake-v0", {}, SMALL | {"sync_period": 1, "memory": 25})
    fake, most = new_fake(PDERL, settings), 0
    while fake.algorithm.counters.generation < 8:
        for task in fake.ask():
            fake.finish(task, fitness=float(task.id % 7))
        memories = fake.algorithm.search.state.memories.values()
        most = max([most, *(sum(stop - start for start, stop in memory) for memory in memories)])
    assert most == 25


def test_a_memory_keeps_the_latest():
    assert latest([(0, 10), (30, 35), (50, 58)], 10) == [(33, 35), (50, 58)]
    assert latest([(0, 10)], 20) == [(0, 10)]
    assert latest([(0, 10), (20, 30)], 10) == [(20, 30)]
