"""What PPO and TRPO share: iterations of one environment, each a task that collects steps and learns from them."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from erlbench.algorithms.base import Algorithm, Context, Needs
from erlbench.algorithms.parts.on_policy_settings import (
    OnPolicyIteration,
    PPOSettings,
    TRPOSettings,
    initial_learner,
    initial_statistics,
    reported_parameters,
    reported_policy,
)
from erlbench.envs.registry import Problem
from erlbench.policy import PolicySpec
from erlbench.work.seeding import Purpose
from erlbench.work.tasks import ArrayRef, Counts, Priority, Result, Task


@dataclass(kw_only=True)
class OnPolicyState:
    """Everything PPO and TRPO need to go on."""

    learner: ArrayRef  # see initial_learner
    actor: ArrayRef  # the reported policy
    statistics: ArrayRef  # see initial_statistics
    actions: ArrayRef | None = None  # of the episode that goes on in the next iteration, (T, action) float32
    observation: ArrayRef | None = None  # after them
    seed: int = -1  # of that episode; -1 before the first
    running: bool = False  # whether an iteration is under way
    metrics: dict[str, float] = field(default_factory=dict)  # of the last iteration


Settings = TypeVar("Settings", bound=PPOSettings | TRPOSettings)
State = TypeVar("State", bound=OnPolicyState)


class OnPolicy(Algorithm[Settings, State]):
    """One environment, one iteration after the other; a subclass names its state and its task of an iteration."""

    state_type: ClassVar[type]
    iteration: ClassVar[str]
    """The task function of an iteration."""
    knows_budget: ClassVar[bool] = True
    open_episodes: ClassVar[bool] = True
    generation_settings: ClassVar[tuple[str, ...]] = ("rollout_steps",)

    def __init__(self, settings: Settings, context: Context) -> None:
        super().__init__(settings, context)
        problem = context.problem
        learner = initial_learner(problem, settings, self.key(Purpose.PARAMETERS))
        statistics = initial_statistics(problem.observation_size)
        actor = reported_parameters(learner[0], statistics, problem, settings)
        self.state = self.state_type(
            learner=self.share(learner), actor=self.share(actor), statistics=self.share(statistics)
        )

    @abstractmethod
    def iteration_settings(self, **common: Any) -> OnPolicyIteration:
        """Settings of the task of an iteration: `common` are the fields that PPO's and TRPO's have."""

    @classmethod
    def depends_on_budget(cls, settings: Settings) -> str:
        return "the last iteration ends with the budget, and the learning rate can fall to 0 there"

    @classmethod
    def policy_for(cls, settings: Settings, problem: Problem) -> PolicySpec:
        return reported_policy(problem, settings)

    @classmethod
    def needs(cls, settings: Settings, problem: Problem) -> Needs:
        return Needs(settings.rollout_steps, recorded=0.0)  # it learns from each iteration's steps

    def policy(self) -> ArrayRef:
        return self.state.actor

    def _ask(self) -> list[Task]:
        """One iteration; the last one is as long as the budget lets it be."""
        if self.state.running or self.exhausted:
            return []
        self.state.running = True
        state, inputs = self.state, {"learner": self.state.learner, "statistics": self.state.statistics}
        total, before = self.context.total_timesteps, self.counters.timesteps
        steps = min(self.settings.rollout_steps, total - before)
        settings = self.iteration_settings(
            problem=self.context.problem,
            steps=steps,
            last=before + steps == total,
            progress=(total - before - steps) / total,
            updates=self.counters.critic_updates,
            seed=state.seed,
        )
        if state.actions is not None and state.observation is not None:
            inputs |= {"actions": state.actions, "observation": state.observation}
        fields = {"priority": Priority.CRITIC, "counts": Counts.TRAINING, "gradient": True}
        return [self.task("rl", self.iteration, Purpose.EPISODE, settings, inputs, **fields)]

    def _tell(self, task: Task, result: Result) -> None:
        state, arrays = self.state, result.arrays
        state.learner, state.actor, state.statistics = arrays["learner"], arrays["actor"], arrays["statistics"]
        state.actions, state.observation, state.seed = arrays["actions"], arrays["observation"], result.values["seed"]
        state.metrics, state.running = dict(result.values["metrics"]), False
        self.counters.generation += 1

    def metrics(self) -> dict[str, float]:
        return dict(self.state.metrics)
