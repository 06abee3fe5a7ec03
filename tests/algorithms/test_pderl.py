"""PDERL's generation: who is a parent of whom, what an individual remembers, and what becomes of it."""

import numpy as np
import pytest

from erlbench.algorithms.pderl import PDERL, PDERLSettings
from erlbench.algorithms.search.pderl import latest
from erlbench.settings import resolve
from erlbench.work.tasks import Output
from tests.runs import all_rows, interrupt, make_cell, run

SMALL = {"population": 6, "hidden": (4,), "critic_hidden": (4,), "batch_size": 4, "memory": 24, "sync_period": 2}


def played(fake, returns, generations):
    """Play so many generations with the same returns; the tasks of the last one."""
    for _ in range(generations):
        tasks = fake.ask()
        for task in tasks:
            fake.finish(task, fitness=returns[task.individual])
    return tasks


@pytest.mark.parametrize("pair_fitness", ["code", "elite-fitness"])
def test_children_are_of_the_fittest_pairs_and_the_fitter_parent_is_the_first(pair_fitness, new_fake):
    """Finds pairs by the worse fitness, parents in the other order, a clone that keeps its own fitness or loses it."""
    returns = [1.0, 6.0, 2.0, 5.0, 3.0, 4.0, 0.0]
    fake = new_fake(PDERL, resolve(PDERLSettings, "Fake-v0", {}, SMALL | {"pair_fitness": pair_fitness}))
    played(fake, returns, 1)
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


def test_a_generation_is_bred_by_tasks_from_memories(new_fake):
    """Finds a memory that is too long, of the wrong individual, and a mutation before the child is made."""
    fake = new_fake(PDERL, resolve(PDERLSettings, "Fake-v0", {}, SMALL))
    returns = [1.0, 6.0, 2.0, 5.0, 3.0, 4.0, 0.0]
    played(fake, returns, 1)
    state = fake.algorithm.search.state
    children = {child.place: child for child in state.children}
    memories = {place: [*each] for place, each in state.memories.items()}
    learner, tasks = fake.algorithm.coupling.state.learner, fake.ask()
    bred = {task.individual: task for task in tasks if task.function.endswith(":distil")}
    mutated = {task.individual: task for task in tasks if task.function.endswith(":mutate")}
    assert bred.keys() == children.keys()
    for place, task in bred.items():
        parents = children[place].first, children[place].second
        assert task.settings.ranges == tuple(each for k in parents for each in latest(memories[k], 12))
        assert task.inputs["learner"] == learner, "before the updates of this generation"
    for place, task in mutated.items():
        source = bred[place].output("parameters") if place in bred else task.inputs["parameters"]
        assert task.inputs["parameters"] == source
    members = {task.individual: task for task in tasks if task.kind == "es"}
    for place, task in members.items():
        last = mutated.get(place) or bred.get(place)
        if last is not None:
            assert task.inputs["parameters"] == last.output("parameters")
        assert isinstance(task.inputs["parameters"], Output) == (last is not None)
    for task in tasks:
        fake.finish(task, fitness=returns[task.individual])
    assert not any(isinstance(z, Output) for z in fake.algorithm.search.state.population)


def test_a_memory_keeps_the_latest():
    assert latest([(0, 10), (30, 35), (50, 58)], 10) == [(33, 35), (50, 58)]
    assert latest([(0, 10)], 20) == [(0, 10)]
    assert latest([(0, 10), (20, 30)], 10) == [(20, 30)]


def test_a_run_is_interrupted_and_gives_the_same_rows(tmp_path):
    settings = {"population": 5, "memory": 200, "distillation_batch": 16, "sync_period": 2}
    whole, parts = (make_cell("pderl", tmp_path / name, settings=settings) for name in "ab")
    assert run(whole) == 0
    interrupt(parts, 12, 31)
    assert run(parts) == 0
    assert all_rows(parts.directory) == all_rows(whole.directory)
    assert np.isfinite(float(all_rows(whole.directory)["train.csv"][-1]["critic_loss"]))
