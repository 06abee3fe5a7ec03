"""The task of the algorithms that learn while they act, TD3 and SAC: one episode with its updates.

The loop itself is in `erlbench.algorithms.episode_loop`, which imports torch; this module names task functions only.
"""

from __future__ import annotations

from typing import Any

from erlbench.algorithms.base import Algorithm
from erlbench.seeding import Purpose
from erlbench.tasks import ArrayRef, Counts, Input, Priority, Task


def episode_task(algorithm: Algorithm, function: str, learner: ArrayRef, values: dict[str, Any]) -> Task:
    """The next episode, which ends with the budget at the latest.

    `function` names the task function (`module:function`), `learner` is its network state, and `values` are its
    settings beside those that `episode_loop.learn` needs.
    """
    task_id, settings, context = algorithm.new_id(), algorithm.settings, algorithm.context
    env, counters = context.problem.env, algorithm.counters
    common = {
        "env": env,
        "policy": algorithm.policy_spec,
        "timesteps": counters.timesteps,
        "limit": min(env.max_episode_steps, context.total_timesteps - counters.timesteps),
        "start_timesteps": settings.start_timesteps,
        "replay_capacity": settings.replay_capacity,
        "critic_updates": counters.critic_updates,
        "actor_updates": counters.actor_updates,
    }
    inputs: dict[str, Input] = {"learner": learner, "replay": context.replay.view(settings.replay_capacity)}
    return Task(
        task_id,
        "rl",
        function,
        algorithm.key(Purpose.EPISODE, task_id),
        {**common, **values},
        inputs,
        Priority.CRITIC,
        Counts.TRAINING,
        gradient=True,
        threads=2,
    )
