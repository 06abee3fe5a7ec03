"""Multi-actor TD3: its schedule, its blocks against TD3's updates, and its reported actor."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from erlbench.algorithms.multi_actor_td3 import MultiActorTD3, MultiActorTD3Settings
from erlbench.envs.registry import problem
from erlbench.work.tasks import Output
from erlbench.work.workspace import Workspace
from tests.runs import make_cell, rows, run

SMALL = MultiActorTD3Settings(actors=3, hidden=(16, 16), batch_size=8, start_timesteps=600, updates_per_step=0.1)


@pytest.fixture
def context(new_context):
    return new_context(problem("Pendulum-v1"), 3, 1800)


def finish(algorithm, workspace, tasks):
    """Run tasks in order, with the outputs of those before; their results by id."""
    results = {}
    for task in tasks:
        inputs = {
            name: results[value.task].arrays[value.name] if isinstance(value, Output) else value
            for name, value in task.inputs.items()
        }
        results[task.id] = workspace.run(replace(task, inputs=inputs))
    for task in tasks:
        algorithm.tell(task, results[task.id])
    return results


def test_a_round_plays_then_trains_and_only_then_is_over(context):
    """A round plays, then trains, and only then is over: a chain of blocks of as many updates as there were steps times
    the ratio. The reported actor is that with the best episode, as it is after its block."""
    algorithm, workspace = MultiActorTD3(SMALL, context), Workspace(context.store)
    first = algorithm.ask()
    assert [(task.kind, task.individual) for task in first] == [("random", 0), ("random", 1), ("random", 2)]
    assert algorithm.ask() == []
    started = [context.store.get(actor.policy).copy() for actor in algorithm.state.actors]
    assert not np.array_equal(started[0], started[1])
    finish(algorithm, workspace, first)
    assert (algorithm.counters.timesteps, algorithm.counters.generation, context.replay.length) == (600, 0, 600)
    blocks = algorithm.ask()
    assert [(task.kind, task.individual) for task in blocks] == [("critic", 0), ("critic", 1), ("critic", 2)]
    assert [task.settings.updates for task in blocks] == [60, 60, 60]
    assert [task.settings.critic_updates for task in blocks] == [0, 60, 120]
    assert [task.inputs["critic"] for task in blocks[1:]] == [Output(task.id, "critic") for task in blocks[:2]]
    assert {task.inputs["replay"].stop for task in blocks} == {600}
    assert algorithm.ask() == []
    finish(algorithm, workspace, blocks)
    counters, scores = algorithm.counters, algorithm.state.scores
    assert (counters.generation, counters.critic_updates, counters.actor_updates) == (1, 180, 90)
    assert [actor.updates for actor in algorithm.state.actors] == [30, 30, 30]
    assert algorithm.state.critic_updates == 180
    best = algorithm.state.actors[int(np.argmax(scores))]
    assert algorithm.policy() == best.policy
    assert not np.array_equal(context.store.get(best.policy), started[int(np.argmax(scores))])
    second = algorithm.ask()
    assert [(task.kind, task.inputs["parameters"]) for task in second] == [
        ("rl", actor.policy) for actor in algorithm.state.actors
    ]
    finish(algorithm, workspace, second)
    finish(algorithm, workspace, algorithm.ask())
    metrics = algorithm.metrics()
    assert metrics["best"] == np.argmax([metrics[f"return_{index}"] for index in range(3)])
    finish(algorithm, workspace, algorithm.ask())
    assert algorithm.exhausted
    finish(algorithm, workspace, algorithm.ask())  # the last round's updates, too
    assert (counters.timesteps, counters.generation, counters.critic_updates) == (1800, 3, 540)
    assert algorithm.ask() == []


@pytest.mark.slow
def test_the_last_evaluation_is_of_what_all_steps_have_trained(tmp_path):
    """As the code: five updates a step, those of the last round included."""
    cell = make_cell("multi-actor-td3", tmp_path, steps=500)
    assert run(cell) == 0
    last = rows(cell.directory, "eval.csv")[-1]
    assert int(last["timesteps"]) >= 500
    assert int(last["critic_updates"]) == 5 * int(last["timesteps"])


@pytest.mark.parametrize("ratio", [0.0, 1e-3])
def test_a_round_without_updates_ends_with_its_episodes(ratio, context):
    algorithm, workspace = MultiActorTD3(replace(SMALL, updates_per_step=ratio), context), Workspace(context.store)
    finish(algorithm, workspace, algorithm.ask())
    assert algorithm.counters.generation == 1
    assert [task.kind for task in algorithm.ask()] == ["rl", "rl", "rl"]
