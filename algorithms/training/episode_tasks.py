"""What the algorithms that learn while they act, TD3, DDPG and SAC, do alike: one episode with its updates at a time.

The loop itself is in `gradients/episode_loop.py`, which imports torch; this module names task functions only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from erlbench.algorithms.base import Algorithm
from erlbench.algorithms.training.update_settings import Episodes, Update
from erlbench.work.seeding import Purpose
from erlbench.work.tasks import ArrayRef, Counts, Input, Priority, Result, Task

MODULE = "erlbench.algorithms.gradients.episodes"
S = TypeVar("S")
L = TypeVar("L", bound="Learning")


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


class EpisodeLearner(Algorithm[S, L]):
    """An algorithm with one `Learning`: a generation is an episode with an update after every step."""

    critic_updates: ClassVar[float] = 1.0
    actor_updates: ClassVar[float] = 1.0
    single_episodes: ClassVar[bool] = True

    @classmethod
    def depends_on_budget(cls, settings: S) -> str:
        return "the last episode ends with the budget"

    def policy(self) -> ArrayRef:
        """The deterministic policy of the learner."""
        return self.state.actor

    def next_episode(self, function: str, update: Update, **more: Any) -> list[Task]:
        """The `episode_task` of the learner; none while one is under way or when the budget is used."""
        if self.state.running or self.exhausted:
            return []
        self.state.running = True
        return [episode_task(self, function, self.state.learner, update, **more)]

    def _tell(self, task: Task, result: Result) -> None:
        self.state.take(result)
        self.counters.generation += 1

    def metrics(self) -> dict[str, float]:
        return {"critic_loss": self.state.critic_loss}


def episode_task(algorithm: Algorithm[Any, Any], function: str, learner: ArrayRef, update: Update, **more: Any) -> Task:
    """The next episode, which ends with the budget at the latest.

    `function` names a task function, by default of `gradients/episodes.py`, `learner` is its network state, and `more`
    are the fields of `Episodes` that are not those of every algorithm.
    """
    task_id, settings, context = algorithm.new_id(), algorithm.settings, algorithm.context
    env, counters = context.problem.env, algorithm.counters
    common = {
        "env": env,
        "timesteps": counters.timesteps,
        "limit": min(env.max_episode_steps, context.total_timesteps - counters.timesteps),
        "start_timesteps": getattr(settings, "start_timesteps", 0),
        "replay_size": settings.replay_size,
        "critic_updates": counters.critic_updates,
        "actor_updates": counters.actor_updates,
    }
    inputs: dict[str, Input] = {"learner": learner, "replay": context.replay.view(settings.replay_size)}
    return Task(
        task_id,
        "rl",
        function if ":" in function else f"{MODULE}:{function}",
        algorithm.key(Purpose.EPISODE, task_id),
        Episodes(update=update, **{**common, **more}),
        inputs,
        Priority.CRITIC,
        Counts.TRAINING,
        gradient=True,
    )
