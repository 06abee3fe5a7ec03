"""What the algorithms that learn while they act, TD3, DDPG, SAC, CrossQ, do alike: an episode with updates at a time.

The loop itself is in `gradients/episode_loop.py`, which imports torch; this module names task functions only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np

from erlbench.algorithms.base import Algorithm, Context
from erlbench.algorithms.training.gradient_tasks import make_critic_spec
from erlbench.algorithms.training.learners import LEARNERS
from erlbench.algorithms.training.update_settings import Episodes, Update
from erlbench.work.seeding import Purpose
from erlbench.work.tasks import ArrayRef, Counts, Input, Priority, Result, Task

S = TypeVar("S")
L = TypeVar("L", bound="Learning")


@dataclass
class Learning:
    """The state of such an algorithm; the base of their states."""

    learner: ArrayRef  # see `Learner.start`
    actor: ArrayRef  # the deterministic policy in it, alone
    running: bool = False  # whether an episode is under way
    critic_loss: float = 0.0  # mean over the last episode

    def take(self, result: Result) -> None:
        """Take in a finished episode."""
        self.learner, self.actor = result.arrays["learner"], result.arrays["actor"]
        self.critic_loss, self.running = result.values["critic_loss"], False


class EpisodeLearner(Algorithm[S, L]):
    """An algorithm with one `Learning`: a generation is an episode with an update after every step."""

    learner_name: ClassVar[str]
    """Its learner in `LEARNERS`."""
    state_type: ClassVar[type]
    task_functions: ClassVar[Mapping[str, type]] = {
        **Algorithm.task_functions,
        **{learner.episode_function: Episodes for learner in LEARNERS.values()},
    }
    critic_updates: ClassVar[float] = 1.0
    actor_updates: ClassVar[float] = 1.0

    def __init__(self, settings: S, context: Context) -> None:
        super().__init__(settings, context)
        self.learner = LEARNERS[self.learner_name]
        self._critic = make_critic_spec(self)
        vector = self.learner.start(self.policy_spec, self._critic, self.key(Purpose.PARAMETERS), **self.networks())
        self.state = self.state_type(self.share(vector), self.share(self.extract_actor(vector)))

    def networks(self) -> dict[str, Any]:
        """Further values for `Learner.start` and its update."""
        return {}

    def extract_actor(self, learner: np.ndarray) -> np.ndarray:
        """The deterministic policy in a fresh learner, `(policy.size,)`."""
        return learner[: self.policy_spec.size]

    def exploration(self) -> dict[str, float]:
        """The fields of `Episodes` about noise on actions, for actors that do not draw theirs."""
        return {"exploration_noise": getattr(self.settings, "exploration_noise", 0.0)}

    @classmethod
    def update_cost(cls, settings: S) -> float:
        return LEARNERS[cls.learner_name].update_cost

    @classmethod
    def depends_on_budget(cls, settings: S) -> str:
        return "the last episode ends with the budget"

    def policy(self) -> ArrayRef:
        """The deterministic policy of the learner."""
        return self.state.actor

    def _ask(self) -> list[Task]:
        """One episode with its updates; none while one is under way or when the budget is used."""
        if self.state.running or self.exhausted:
            return []
        self.state.running = True
        learner = self.learner
        update = learner.update(self.policy_spec, self._critic, self.settings, **self.networks())
        return [episode_task(self, learner.episode_function, self.state.learner, update, **self.exploration())]

    def _tell(self, task: Task, result: Result) -> None:
        self.state.take(result)
        self.counters.generation += 1

    def metrics(self) -> dict[str, float]:
        return {"critic_loss": self.state.critic_loss}


def episode_task(algorithm: Algorithm[Any, Any], function: str, learner: ArrayRef, update: Update, **more: Any) -> Task:
    """The next episode, which ends with the budget at the latest.

    `function` is the task function, `learner` its network state, and `more` are fields of `Episodes` in addition
    to every algorithm's.
    """
    settings, context = algorithm.settings, algorithm.context
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
    episodes, fields = Episodes(update=update, **{**common, **more}), {"counts": Counts.TRAINING, "gradient": True}
    return algorithm.task("rl", function, Purpose.EPISODE, episodes, inputs, priority=Priority.CRITIC, **fields)
