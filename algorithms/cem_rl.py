"""CEM-RL: CEM whose first individuals are trained by TD3's gradients before they are evaluated.

Pourchot and Sigaud, "CEM-RL: Combining evolutionary and gradient-based methods for policy search", ICLR 2019,
algorithm 1, with the constants of github.com/apourchot/CEM-RL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from erlbench.algorithms.cem import CEM, CEM_RL, CEMSearchSettings, CEMState
from erlbench.algorithms.gradient_tasks import ActorCriticSettings, CriticState, actor_task, critic_task, new_critic
from erlbench.algorithms.individuals import start_states
from erlbench.algorithms.search.search_distribution import SearchDistribution
from erlbench.experiment.settings import setting
from erlbench.work.tasks import Input, Output, Perturbed, Result, Task

AES_CODE = "AES-RL, public code"
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
class CEMRLSettings(ActorCriticSettings, CEMSearchSettings):
    """Hyper-parameters of CEM-RL."""

    n_grad: int = setting(5, "individuals of a generation that are trained by gradients", CEM_RL, minimum=0)
    start_timesteps: int = setting(10_000, "timesteps of warm-up, without gradients", CEM_RL, minimum=0)
    warmup_gate: str = setting(
        MORE_THAN,
        "a generation is trained after more than so many timesteps, or at-least so many; individual: more-than is "
        "asked before each individual, whose episode the next one's critic learns from",
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


@dataclass
class CEMRLState(CEMState):
    """CEM's state and the critic; there is none when `n_grad` is 0."""

    critic: CriticState | None = None
    asked: int = 0  # individuals of this generation whose tasks have been asked for
    trained: list[int] = field(default_factory=list)  # of them, those that are trained by gradients
    rl_elites: int = 0  # how many of the generation before were among its elites


class CEMRL(CEM):
    """CEM-RL: half of CEM's population trained by gradients (TD3; DDPG, SAC) on a shared critic."""

    settings_type: ClassVar[type] = CEMRLSettings

    def initial_state(self, distribution: SearchDistribution) -> CEMRLState:
        critic = new_critic(self) if self.settings.n_grad else None
        return CEMRLState(distribution, self.settings.initial_variance, critic=critic)

    @property
    def warm(self) -> bool:
        """Whether there is enough experience to learn from."""
        timesteps, start = self.counters.timesteps, self.settings.start_timesteps
        enough = timesteps >= start if self.settings.warmup_gate == AT_LEAST else timesteps > start
        return enough and self.context.replay.length >= self.settings.batch_size

    def _ask(self) -> list[Task]:
        """A whole generation when none is under way; with the gate `individual` one individual after the other."""
        state = self.state
        if self.settings.warmup_gate != INDIVIDUAL or not state.individuals:
            return super()._ask()
        return self.tasks_of(state.asked, state.asked + 1) if len(state.fitness) == state.asked else []

    def generation(self, population: list[Perturbed]) -> list[Task]:
        """Train the first individuals, then evaluate all."""
        self.state.asked, self.state.trained = 0, []
        return self.tasks_of(0, 1 if self.settings.warmup_gate == INDIVIDUAL else len(population))

    def tasks_of(self, first: int, stop: int) -> list[Task]:
        """The training, if it is time for it, and the episodes of the individuals from `first` to before `stop`."""
        state = self.state
        parameters: list[Input] = list(state.individuals)
        trained = range(first, min(stop, self.settings.n_grad)) if self.warm else range(0)
        state.trained += trained
        state.asked = stop
        return self.training(parameters, trained) + self.evaluations(parameters, range(first, stop))

    def training(self, parameters: list[Input], trained: Sequence[int]) -> list[Task]:
        """A chain of critic blocks, and the actors' training; puts its outputs into `parameters`.

        Actor i learns from the critic after i + 1 blocks, whose target actor is individual i before its training.
        So it can train while the chain goes on, and the individuals beyond `n_grad` can be evaluated at once.
        """
        if not trained:
            return []
        settings, critic, steps = self.settings, self.state.critic, self.state.previous_steps
        view = self.context.replay.view(settings.replay_size)
        latest: Input = critic.parameters
        block = steps // settings.n_grad
        tasks = []
        for index in trained:
            z = parameters[index]
            if block:
                tasks.append(critic_task(self, latest, z, block, critic.step, view, individual=index))
                latest = Output(tasks[-1].id, "critic")
                critic.step += block
            tasks.append(actor_task(self, z, latest, steps, view, individual=index))
            parameters[index] = Output(tasks[-1].id, "parameters")
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
        if task.kind == "critic":
            self.state.critic.parameters = result.arrays["critic"]
        elif task.kind == "actor":
            self.state.individuals[task.individual] = result.arrays["parameters"]
        else:
            super()._tell(task, result)

    def update(self) -> None:
        super().update()
        self.state.rl_elites = sum(index in self.state.trained for index in self.state.elites)

    def metrics(self) -> dict[str, float]:
        return {**super().metrics(), "n_rl": len(self.state.trained), "rl_elites": self.state.rl_elites}
