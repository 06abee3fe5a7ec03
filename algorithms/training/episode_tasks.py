"""What the algorithms that learn while they act, TD3, DDPG and SAC, do alike: one episode with its updates at a time.

The loop itself is in `gradients/episode_loop.py`, which imports torch; this module names task functions only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from erlbench.algorithms.base import Algorithm
from erlbench.algorithms.training.update_settings import Episodes, Update
from erlbench.work.seeding import Purpose
from erlbench.work.tasks import ArrayRef, Counts, Input, Priority, Result, Task

MODULE = "erlbench.algorithms.gradients.episodes"
CUT_EPISODE = "the last episode ends with the budget"  # what depends on it


def episode_functions(*names: str) -> dict[str, type]:
    """Task functions of `gradients/episodes.py` as an algorithm declares them."""
    return {f"{MODULE}:{name}": Episodes for name in names}


@dataclass
class Learning:
    """Where such an algorithm stands; the base of their states."""

    learner: ArrayRef  # see the algorithm's `initial_learner`
    actor: ArrayRef  # the deterministic policy in it, alone
    running: bool = False  # whether an episode is under way
    critic_loss: float = 0.0  # mean over the last episode

    def take(self, result: Result) -> None:
        """Take in a finished episode."""
        self.learner, self.actor = result.arrays["learner"], result.arrays["actor"]
        self.critic_loss, self.running = result.values["critic_loss"], False


def next_episode(algorithm: Algorithm[Any, Any], function: str, update: Update, **more: Any) -> list[Task]:
    """The `episode_task` of an algorithm with a `Learning`; none while one is under way or when the budget is used."""
    if algorithm.state.running or algorithm.exhausted:
        return []
    algorithm.state.running = True
    return [episode_task(algorithm, function, algorithm.state.learner, update, **more)]


def episode_task(algorithm: Algorithm[Any, Any], function: str, learner: ArrayRef, update: Update, **more: Any) -> Task:
    """The next episode, which ends with the budget at the latest.

    `function` names a task function of `gradients/episodes.py`, `learner` is its network state, and `more` are the
    fields of `Episodes` that are not those of every algorithm.
    """
    task_id, settings, context = algorithm.new_id(), algorithm.settings, algorithm.context
    env, counters = context.problem.env, algorithm.counters
    common = {
        "env": env,
        "timesteps": counters.timesteps,
        "limit": min(env.max_episode_steps, context.total_timesteps - counters.timesteps),
        "start_timesteps": settings.start_timesteps,
        "replay_size": settings.replay_size,
        "critic_updates": counters.critic_updates,
        "actor_updates": counters.actor_updates,
    }
    inputs: dict[str, Input] = {"learner": learner, "replay": context.replay.view(settings.replay_size)}
    return Task(
        task_id,
        "rl",
        f"{MODULE}:{function}",
        algorithm.key(Purpose.EPISODE, task_id),
        Episodes(update=update, **{**common, **more}),
        inputs,
        Priority.CRITIC,
        Counts.TRAINING,
        gradient=True,
    )
