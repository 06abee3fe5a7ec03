"""CEM-RL: CEM whose first individuals are trained by TD3's gradients before they are evaluated.

Pourchot and Sigaud, "CEM-RL: Combining evolutionary and gradient-based methods for policy search", ICLR 2019,
algorithm 1, with the constants of github.com/apourchot/CEM-RL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from erlbench.algorithms.base import Algorithm, Context
from erlbench.algorithms.cem import CEM_RL, CEMSearchSettings, CEMState, evaluated, first_distribution, sample
from erlbench.algorithms.individuals import FitnessSettings, start_states
from erlbench.algorithms.training.actor_critic_settings import ActorCriticSettings
from erlbench.algorithms.training.gradient_tasks import (
    CriticState,
    actor_task,
    critic_task,
    new_critic,
    update_functions,
)
from erlbench.settings import setting
from erlbench.work.tasks import ArrayRef, Input, Result, Task

MORE_THAN, AT_LEAST, INDIVIDUAL = "more-than", "at-least", "individual"
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "paper": {},
    "ddpg": {"learner": "ddpg"},  # CEM-DDPG of the paper
    "sac": {"learner": "sac"},
    "no-extra-division": {"extra_ke_division": False},
    # CEM-RL as the authors of AES-RL re-implemented it
    "aes-rl-code": {"tau_cem": 0.90, "random_warmup": True, "warmup_gate": INDIVIDUAL},
}


@dataclass(frozen=True)
class CEMRLSettings(ActorCriticSettings, CEMSearchSettings, FitnessSettings):
    """Hyper-parameters of CEM-RL."""

    n_grad: int = setting(5, "individuals of a generation that are trained by gradients", CEM_RL, minimum=0)
    start_timesteps: int = setting(10_000, "timesteps of warm-up, without gradients", CEM_RL, minimum=0)
    warmup_gate: str = setting(
        MORE_THAN,
        "training begins after more-than, or at-least, start_timesteps, checked before each generation; individual "
        "(cem-rl only): after more than that, checked before each individual, one after another",
        CEM_RL,
        choices=(MORE_THAN, AT_LEAST, INDIVIDUAL),
    )
    random_warmup: bool = setting(
        False, "uniform random actions until training starts, instead of the individuals' own", CEM_RL
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_learner()
        if self.n_grad > self.population:
            raise ValueError(f"n_grad ({self.n_grad}) cannot exceed population ({self.population})")


S = TypeVar("S", bound=CEMRLSettings)


@dataclass
class CEMRLState(CEMState):
    """CEM's state and the critic; there is none when `n_grad` is 0."""

    critic: CriticState | None = None
    asked: int = 0  # individuals of this generation whose tasks have been asked for
    trained: list[int] = field(default_factory=list)  # of them, those that are trained by gradients
    rl_elites: int = 0  # how many of the generation before were among its elites


class CEMRL(Algorithm[S, CEMRLState]):
    """CEM-RL: half of CEM's population trained by gradients (TD3; DDPG, SAC) on a shared critic."""

    settings_type: ClassVar[type] = CEMRLSettings
    task_functions: ClassVar[Mapping[str, type]] = {
        **Algorithm.task_functions,
        **update_functions("update_critic", "train_actor"),
    }
    critic_updates: ClassVar[float] = 1.0
    actor_updates: ClassVar[float] = 5.0

    def __init__(self, settings: S, context: Context) -> None:
        super().__init__(settings, context)
        self.state = CEMRLState(first_distribution(self), settings.initial_variance)
        if settings.n_grad:
            self.state.critic = new_critic(self)

    @classmethod
    def depends_on_budget(cls, settings: S) -> str:
        return ""

    @classmethod
    def gradient_workers(cls, settings: S, workers: int) -> int:
        return settings.n_grad + 1 if settings.n_grad else 0

    def policy(self) -> ArrayRef:
        return self.state.distribution.mean_ref

    @property
    def warm(self) -> bool:
        """Whether there is enough experience to learn from."""
        timesteps, start = self.counters.timesteps, self.settings.start_timesteps
        enough = timesteps >= start if self.settings.warmup_gate == AT_LEAST else timesteps > start
        return enough and self.context.replay.length >= self.settings.batch_size

    def _ask(self) -> list[Task]:
        """A whole generation when none is under way; with the gate `individual` one individual after the other."""
        state, alone = self.state, self.settings.warmup_gate == INDIVIDUAL
        if state.individuals:
            return self.tasks_of(state.asked, state.asked + 1) if alone and len(state.fitness) == state.asked else []
        if self.exhausted:
            return []
        state.individuals, state.asked, state.trained = sample(self), 0, []
        return self.tasks_of(0, 1 if alone else len(state.individuals))

    def tasks_of(self, first: int, stop: int) -> list[Task]:
        """The training, if it is time for it, and the episodes of the individuals from `first` to before `stop`."""
        state = self.state
        parameters: list[Input] = list(state.individuals)
        trained = range(first, min(stop, self.settings.n_grad)) if self.warm else range(0)
        state.trained += trained
        state.asked = stop
        tasks = self.training(parameters, trained) if trained and state.critic else []
        for task in tasks:
            if task.kind == "actor":
                parameters[task.individual] = task.output("parameters")
        return tasks + self.evaluations(parameters, range(first, stop))

    def training(self, parameters: Sequence[Input], trained: Sequence[int]) -> list[Task]:
        """A chain of critic blocks, and the actors' training.

        Actor i learns from the critic after i + 1 blocks, whose target actor is individual i before its training.
        So it can train while the chain goes on, and the individuals beyond `n_grad` can be evaluated at once.
        """
        settings, critic, steps = self.settings, self.state.critic, self.state.previous_steps
        assert critic is not None
        view = self.context.replay.view(settings.replay_size)
        latest: Input = critic.parameters
        block = steps // settings.n_grad
        tasks = []
        for index in trained:
            z = parameters[index]
            if block:
                tasks.append(critic_task(self, latest, z, block, critic.step, view, individual=index))
                latest = tasks[-1].output("critic")
                critic.step += block
            tasks.append(actor_task(self, z, latest, steps, view, individual=index))
        return tasks

    def evaluations(self, parameters: Sequence[Input], individuals: range) -> list[Task]:
        """The episodes of `individuals`; all of them go to the replay."""
        random = self.settings.random_warmup and not self.warm
        seeds = start_states(self, self.counters.generation)
        return [
            self.rollout(
                parameters[index],
                kind="random" if random else "rl" if index in self.state.trained else "es",
                episodes=self.settings.episodes,
                seeds=seeds,
                record=self.settings.n_grad > 0,
                random_actions=random,
                mode=not self.settings.stochastic,
                individual=index,
            )
            for index in individuals
        ]

    def _tell(self, task: Task, result: Result) -> None:
        state = self.state
        if task.kind == "critic":
            assert state.critic is not None
            state.critic.parameters = result.arrays["critic"]
        elif task.kind == "actor":
            state.individuals[task.individual] = result.arrays["parameters"]
        elif evaluated(self, task.individual, result):
            state.rl_elites = sum(index in state.trained for index in state.elites)

    def metrics(self) -> dict[str, float]:
        return {**self.state.columns(), "n_rl": len(self.state.trained), "rl_elites": self.state.rl_elites}
