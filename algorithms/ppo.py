"""PPO: proximal policy optimisation with a clipped objective, on stable-baselines3's networks and updates.

Schulman, Wolski, Dhariwal, Radford and Klimov, "Proximal Policy Optimization Algorithms", 2017 (arXiv 1707.06347),
with the constants of OpenAI baselines' ppo2 for MuJoCo. An iteration collects `rollout_steps` steps and makes some
epochs of minibatch updates on them; its task is in `erlbench.algorithms.gradients.ppo_iteration`, which imports torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from erlbench.algorithms.base import Algorithm, Context, Needs
from erlbench.algorithms.parts.ppo_networks import (
    initial_learner,
    initial_statistics,
    reported_parameters,
    reported_policy,
)
from erlbench.algorithms.parts.ppo_settings import PRESETS, PPOIteration, PPOSettings
from erlbench.envs.registry import Problem
from erlbench.policy import PolicySpec
from erlbench.work.seeding import Purpose
from erlbench.work.tasks import ArrayRef, Counts, Priority, Result, Task

__all__ = ["PPO", "PRESETS", "PPOIteration", "PPOSettings", "PPOState"]


@dataclass(kw_only=True)
class PPOState:
    """Everything PPO needs to go on."""

    learner: ArrayRef  # see initial_learner
    actor: ArrayRef  # the reported policy
    statistics: ArrayRef  # see initial_statistics
    actions: ArrayRef | None = None  # of the episode that goes on in the next iteration, (T, action) float32
    observation: ArrayRef | None = None  # after them
    seed: int = -1  # of that episode; -1 before the first
    running: bool = False  # whether an iteration is under way
    metrics: dict[str, float] = field(default_factory=dict)  # of the last iteration


ITERATION = "erlbench.algorithms.gradients.ppo_iteration:iteration"


class PPO(Algorithm[PPOSettings, PPOState]):
    """Proximal policy optimisation, by stable-baselines3: one environment, clipped objective."""

    settings_type: ClassVar[type] = PPOSettings
    task_functions: ClassVar[Mapping[str, type]] = {**Algorithm.task_functions, ITERATION: PPOIteration}
    critic_updates: ClassVar[float] = 0.16
    actor_updates: ClassVar[float] = 0.16
    single_episodes: ClassVar[bool] = True
    knows_budget: ClassVar[bool] = True
    open_episodes: ClassVar[bool] = True

    def __init__(self, settings: PPOSettings, context: Context) -> None:
        super().__init__(settings, context)
        problem = context.problem
        learner = initial_learner(problem, settings, self.key(Purpose.PARAMETERS))
        statistics = initial_statistics(problem.observation_size)
        actor = reported_parameters(learner[0], statistics, problem, settings)
        self.state = PPOState(learner=self.share(learner), actor=self.share(actor), statistics=self.share(statistics))

    generation_settings: ClassVar[tuple[str, ...]] = ("rollout_steps",)

    @classmethod
    def depends_on_budget(cls, settings: PPOSettings) -> str:
        return "the last iteration ends with the budget, and the learning rate can fall to 0 there"

    @classmethod
    def policy_for(cls, settings: PPOSettings, problem: Problem) -> PolicySpec:
        return reported_policy(problem, settings)

    @classmethod
    def needs(cls, settings: PPOSettings, problem: Problem) -> Needs:
        return Needs(
            settings.rollout_steps, recorded=lambda generations: 0.0
        )  # it learns from each iteration's own steps

    def policy(self) -> ArrayRef:
        return self.state.actor

    def _ask(self) -> list[Task]:
        """One iteration; the last one is as long as the budget lets it be."""
        if self.state.running or self.exhausted:
            return []
        self.state.running = True
        state, task_id = self.state, self.new_id()
        total, before = self.context.total_timesteps, self.counters.timesteps
        steps = min(self.settings.rollout_steps, total - before)
        settings = PPOIteration(
            ppo=self.settings,
            problem=self.context.problem,
            steps=steps,
            last=before + steps == total,
            progress=(total - before - steps) / total,
            updates=self.counters.critic_updates,
            seed=state.seed,
        )
        inputs = {"learner": state.learner, "statistics": state.statistics}
        if state.actions is not None and state.observation is not None:
            inputs |= {"actions": state.actions, "observation": state.observation}
        return [
            Task(
                task_id,
                "rl",
                ITERATION,
                self.key(Purpose.EPISODE, task_id),
                settings,
                inputs,
                Priority.CRITIC,
                Counts.TRAINING,
                gradient=True,
            )
        ]

    def _tell(self, task: Task, result: Result) -> None:
        state, arrays = self.state, result.arrays
        state.learner, state.actor, state.statistics = arrays["learner"], arrays["actor"], arrays["statistics"]
        state.actions, state.observation, state.seed = arrays["actions"], arrays["observation"], result.values["seed"]
        state.metrics, state.running = dict(result.values["metrics"]), False
        self.counters.generation += 1

    def metrics(self) -> dict[str, float]:
        return dict(self.state.metrics)
