"""The schedule `chain`: generations, in which each actor is trained on the critic that has learnt from it.

Pourchot and Sigaud, "CEM-RL", ICLR 2019, algorithm 1. The losses of critic and actors are in `gradients/learners/`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from erlbench.algorithms.individuals import Generation
from erlbench.algorithms.schedule.generations import Generations
from erlbench.algorithms.schedule.schedule import ScheduleState
from erlbench.algorithms.search.search import Vector
from erlbench.algorithms.training.gradient_tasks import actor_task, critic_task
from erlbench.settings import at_least_zero, setting
from erlbench.work.seeding import Purpose
from erlbench.work.tasks import Input, Output, Result, Task

if TYPE_CHECKING:
    from erlbench.algorithms.hybrid import Hybrid

CEM_RL = "CEM-RL, public code"
MORE_THAN, AT_LEAST, INDIVIDUAL = "more-than", "at-least", "individual"


@dataclass(frozen=True, kw_only=True)
class ChainSettings:
    """Hyper-parameters of the chain's warm-up."""

    start_timesteps: int = at_least_zero(10_000, "timesteps of warm-up, without gradients", CEM_RL)
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


@dataclass(kw_only=True)
class ChainState(ScheduleState, Generation):
    """The generation under way."""

    individuals: list[Vector | Output] = field(default_factory=list)  # trained or not; of a task that is under way
    samples: list[Vector] = field(default_factory=list)  # the same before training
    asked: int = 0  # individuals whose tasks have been asked for
    trained: list[int] = field(default_factory=list)  # of them, those that are trained by gradients
    rl_elites: int = 0  # how many of the generation before were among its elites
    f_mean: float | None = None  # f(mu), where the search needs it, once it is known
    sums: list[Result] | None = None  # of noise, that a search wants when all individuals are evaluated
    awaited: int = 0  # how many


class Chain(Generations):
    """`chain`: a chain of critic blocks, actor i trained on the critic after block i, whole generations."""

    settings_type: ClassVar[type] = ChainSettings
    state: ChainState

    def __init__(self, settings: Any, run: Hybrid[Any]) -> None:
        super().__init__(settings, run)
        self.state = ChainState()

    @property
    def warm(self) -> bool:
        timesteps, start = self.run.counters.timesteps, self.settings.start_timesteps
        enough = timesteps >= start if self.settings.warmup_gate == AT_LEAST else timesteps > start
        return enough and (not self.run.learns or self.run.context.replay.length >= self.run.settings.batch_size)

    def begin(self) -> list[Task]:
        """A generation: a learner's updates, samples and vectors from outside, what becomes of them, its episode."""
        state, run, coupling, number = self.state, self.run, self.run.coupling, self.run.generation
        tasks = run.search.breed(run)
        state.samples = coupling.population(lambda index: run.key(Purpose.NOISE, number, index))
        state.individuals, state.trained, state.f_mean = [*state.samples], [], None
        tasks += coupling.ask_before(state.previous_steps, self.warm)
        coupling.inject(state.individuals)
        tasks += [*self.ask_individuals(0), *coupling.ask_beside(len(state.individuals))]
        return [*tasks, self.measurement(run.search.mean_ref, number)] if run.search.mean_episodes else tasks

    def ask_individuals(self, first: int) -> list[Task]:
        """From `first` on all individuals, or one: its training, if it is time for it, and its episodes."""
        state, warm = self.state, self.warm
        state.asked = first + 1 if self.settings.warmup_gate == INDIVIDUAL else len(state.individuals)
        parameters: list[Input] = list(state.individuals)
        trained = range(first, min(state.asked, self.run.coupling.count if warm else 0))
        state.trained += trained
        tasks = self.training(parameters, trained) if trained else []
        for task in tasks:
            if task.kind == "actor":
                parameters[task.individual] = task.output("parameters")
        random = self.settings.random_warmup and not warm
        return tasks + self.fitness_episodes(parameters, range(first, state.asked), random)

    def training(self, parameters: Sequence[Input], trained: Sequence[int]) -> list[Task]:
        """A chain of critic blocks, and the actors' training.

        Actor i learns from the critic after i + 1 blocks, whose target actor is individual i before its training.
        So it can train while the chain goes on, and the individuals that are not trained can be evaluated at once.
        """
        run, critic, steps = self.run, self.run.critic, self.state.previous_steps
        latest: Input = critic.parameters
        block = steps // run.coupling.count
        tasks = []
        for index in trained:
            z = parameters[index]
            if block:
                tasks.append(critic_task(run, latest, z, block, critic.step, index))
                latest = tasks[-1].output("critic")
                critic.step += block
            tasks.append(actor_task(run, z, latest, steps, index))
        return tasks
