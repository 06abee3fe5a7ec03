"""Running an algorithm that has one task at a time, in this process."""

from __future__ import annotations

import numpy as np
import pytest

from erlbench.work.workspace import Workspace


def run(algorithm, workspace):
    """Run to the end of the budget; the tasks and their results."""
    done = []
    while tasks := algorithm.ask():
        (task,) = tasks
        done.append((task, workspace.run(task)))
        algorithm.tell(*done[-1])
    return done


def check_schedule(algorithm, workspace, updates_per_actor_update=1):
    """650 steps of the pendulum after 250 of warm-up: an update a step, the policy is the first part of the learner."""
    context = algorithm.context
    first = context.store.get(algorithm.policy()).copy()
    done = run(algorithm, workspace)
    updates = [0, 150, 200, 50]
    assert [result.values["lengths"] for _, result in done] == [[200], [200], [200], [50]]
    assert [result.values["critic_updates"] for _, result in done] == updates
    assert [result.values["actor_updates"] for _, result in done] == [n // updates_per_actor_update for n in updates]
    counters = algorithm.counters
    assert (counters.timesteps, counters.episodes, counters.generation) == (650, 4, 4)
    assert (counters.critic_updates, counters.actor_updates) == (400, 400 // updates_per_actor_update)
    assert context.replay.length == 650
    assert np.array_equal(context.store.get(done[0][1].arrays["actor"]), first)
    learner = context.store.get(algorithm.state.learner)
    assert np.array_equal(context.store.get(algorithm.policy()), learner[: algorithm.policy_spec.size])


def check_random_warmup(context):
    """The replay's first 250 actions are uniform, and nothing in it is terminal."""
    transitions = Workspace(context.store).replay(context.replay.view()).transitions
    assert transitions[:, -1].all(), "a pendulum never terminates, neither by time nor by budget"
    random_actions = transitions[:250, 0]
    assert abs(random_actions.mean()) < 0.15
    assert random_actions.std() == pytest.approx(3**-0.5, abs=0.05)
