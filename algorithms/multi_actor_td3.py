"""Multi-actor TD3: several TD3 actors that share one critic and one replay, without evolution.

The control experiment of Pourchot and Sigaud, "CEM-RL: Combining evolutionary and gradient-based methods for policy
search", ICLR 2019, with the schedule of its public code (github.com/apourchot/CEM-RL, distributed.py): in each round
every actor plays one noisy episode, then every actor in turn makes a block of TD3 updates on the shared critic, and
the actors are evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from erlbench.algorithms.base import Algorithm, Context, Needs
from erlbench.algorithms.search.search_distribution import ranking
from erlbench.algorithms.training.critic import critic_spec, initial_critic
from erlbench.algorithms.training.gradient_tasks import update_task
from erlbench.algorithms.training.learners import MODULE, unscaled
from erlbench.algorithms.training.update_settings import TD3Update, Updates
from erlbench.envs.registry import Problem
from erlbench.policy import ACTIVATIONS, initial_parameters
from erlbench.settings import at_least_one, at_least_zero, fraction, setting
from erlbench.work.seeding import Purpose
from erlbench.work.tasks import ArrayRef, Input, Result, Task

CODE = "CEM-RL, public code"
UPDATE = f"{MODULE}:update_td3"
# one-update: as many critic updates as environment steps, CEM-RL's ratio; one-actor: the TD3 of CEM-RL's tables
PRESETS: Mapping[str, Mapping[str, Any]] = {"one-update": {"updates_per_step": 0.2}, "one-actor": {"actors": 1}}


@dataclass(frozen=True, kw_only=True)
class MultiActorTD3Settings:
    """Hyper-parameters of multi-actor TD3. Noise is in units of the action normalised to [-1, 1]."""

    actors: int = at_least_one(5, "actors that share the critics", "as many as CEM-RL trains; the code leaves it open")
    updates_per_step: float = at_least_zero(
        1.0, "updates that each actor makes per environment step of the round", CODE
    )
    hidden: tuple[int, ...] = at_least_one((400, 300), "widths of the hidden layers of actors and critics", CODE)
    activation: str = setting("tanh", "hidden activation of the actors", "CEM-RL", choices=ACTIVATIONS)
    critic_activation: str = setting("leaky-relu", "hidden activation of the critics", "CEM-RL", choices=ACTIVATIONS)
    learning_rate: float = at_least_zero(1e-3, "Adam's step size, actors and critics", CODE)
    batch_size: int = at_least_one(100, "transitions per update", CODE)
    discount: float = fraction(0.99, "discount factor", CODE, symbol="gamma")
    tau: float = fraction(0.005, "how far the targets move at a time", CODE)
    start_timesteps: int = at_least_zero(10_000, "random actions in rounds that start before this step", CODE)
    exploration_noise: float = at_least_zero(
        0.1, "standard deviation of the actions' noise", CODE, by_env=unscaled(0.1)
    )
    target_noise: float = at_least_zero(
        0.2, "standard deviation of the target actions' noise", CODE, by_env=unscaled(0.2)
    )
    noise_clip: float = at_least_zero(
        0.5, "the target actions' noise is clipped to +- this", CODE, by_env=unscaled(0.5)
    )
    policy_delay: int = at_least_one(2, "critic updates per update of an actor and the targets", CODE, symbol="d")
    replay_size: int = at_least_one(1_000_000, "latest transitions to learn from", CODE)


@dataclass
class ActorState:
    """One actor of the group."""

    learner: ArrayRef  # `(4, policy.size)`: online, target, Adam's moments
    policy: ArrayRef  # the first row
    updates: int = 0  # Adam steps so far
    score: float = 0.0  # return of its episode in the round under way, once known


@dataclass(kw_only=True)
class MultiActorTD3State:
    """Everything multi-actor TD3 needs to go on."""

    actors: list[ActorState]
    critic: ArrayRef  # both critics, their targets and Adam's moments: the array of `training/critic.py`
    critic_updates: int = 0  # those in flight included
    best: int = 0  # the actor with the best episode of the last complete round
    out: int = 0  # tasks that are not told yet, all of them episodes or all of them blocks
    updates: int = 0  # that each actor has to make to end the round; 0 while episodes are played
    steps: int = 0  # of the round's episodes so far
    critic_loss: float = 0.0  # of the last block
    scores: list[float] = field(default_factory=list)  # of the last complete round, by actor


class MultiActorTD3(Algorithm[MultiActorTD3Settings, MultiActorTD3State]):
    """Multi-actor TD3: TD3 actors that share one critic and one replay, CEM-RL's control without evolution."""

    settings_type: ClassVar[type] = MultiActorTD3Settings
    task_functions: ClassVar[Mapping[str, type]] = {**Algorithm.task_functions, UPDATE: Updates}
    critic_updates: ClassVar[float] = 5.0
    actor_updates: ClassVar[float] = 2.5

    def __init__(self, settings: MultiActorTD3Settings, context: Context) -> None:
        super().__init__(settings, context)
        self._critic = critic_spec(self.policy_spec, settings.hidden, settings.critic_activation)
        critic = initial_critic(self._critic, self.key(Purpose.PARAMETERS, 1))
        self.state = MultiActorTD3State(
            actors=[self._actor(index) for index in range(settings.actors)], critic=self.share(critic)
        )

    def _actor(self, index: int) -> ActorState:
        learner = np.zeros((4, self.policy_spec.size), np.float32)
        learner[:2] = initial_parameters(self.policy_spec.sizes, self.key(Purpose.PARAMETERS, 0, index))
        return ActorState(self.share(learner), self.share(learner[0]))

    generation_settings: ClassVar[tuple[str, ...]] = ("actors",)

    @classmethod
    def warmup(cls, settings: MultiActorTD3Settings) -> int:
        return 0  # it acts at random at first, and learns after the first round

    @classmethod
    def depends_on_budget(cls, settings: MultiActorTD3Settings) -> str:
        return ""

    @classmethod
    def needs(cls, settings: MultiActorTD3Settings, problem: Problem) -> Needs:
        return Needs.of_episodes(problem, settings.actors)

    def policy(self) -> ArrayRef:
        return self.state.actors[self.state.best].policy

    def _ask(self) -> list[Task]:
        """The episodes of a round; and when all are told, every actor's block of updates."""
        state = self.state
        if state.out:
            return []
        if state.updates:
            tasks = self._blocks(state.updates)
        elif self.exhausted:
            tasks = []
        else:
            tasks = self._episodes()
        state.out = len(tasks)
        return tasks

    def _episodes(self) -> list[Task]:
        """One noisy episode of each actor."""
        self.state.steps, settings = 0, self.settings
        random = self.counters.timesteps < settings.start_timesteps
        return self.rollouts(
            [actor.policy for actor in self.state.actors],
            kind="random" if random else "rl",
            record=True,
            random_actions=random,
            action_noise=settings.exploration_noise,
        )

    def _blocks(self, updates: int) -> list[Task]:
        """`updates` TD3 updates of each actor, one after the other, since they share the critic."""
        critic: Input = self.state.critic
        update, tasks = TD3Update.of(self.policy_spec, self._critic, self.settings), []
        for index, actor in enumerate(self.state.actors):
            values = Updates(update, updates, self.state.critic_updates, actor.updates)
            inputs: dict[str, Input] = {"actor": actor.learner, "critic": critic}
            tasks.append(update_task(self, "critic", UPDATE, values, inputs, individual=index))
            self.state.critic_updates += updates
            critic = tasks[-1].output("critic")
        return tasks

    def _tell(self, task: Task, result: Result) -> None:
        """The last episode of a round decides how many updates follow it; the last block ends the round."""
        state, actor = self.state, self.state.actors[task.individual]
        state.out -= 1
        if task.kind == "critic":
            state.critic, state.critic_loss = result.arrays["critic"], result.values["critic_loss"]
            actor.learner, actor.policy = result.arrays["actor"], result.arrays["policy"]
            actor.updates += result.values["actor_updates"]
            if not state.out:
                self._end_round()
            return
        actor.score = result.values["returns"][0]
        state.steps += result.values["lengths"][0]
        if not state.out:
            state.updates = int(self.settings.updates_per_step * state.steps)
            if not state.updates:
                self._end_round()

    def _end_round(self) -> None:
        state = self.state
        state.scores = [actor.score for actor in state.actors]
        state.best = ranking(state.scores)[0]
        state.updates = 0
        self.counters.generation += 1

    def metrics(self) -> dict[str, float]:
        state = self.state
        scores = {f"return_{index}": score for index, score in enumerate(state.scores or [0.0] * len(state.actors))}
        return {"critic_loss": state.critic_loss, "best": state.best, "steps": state.steps, **scores}
