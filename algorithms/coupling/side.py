"""The coupling `side`: one learner next to the population, as in ERL, PDERL and EvoRainbow.

Khadka and Tumer, "Evolution-Guided Policy Gradient in Reinforcement Learning" (ERL), NeurIPS 2018: it learns from
everybody's transitions, plays with noise, and now and then replaces the worst individual. Li et al., "EvoRainbow", ICML
2024: its actor also moves a little towards the best individual.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from erlbench.algorithms.coupling.coupling import Coupling, CouplingState
from erlbench.algorithms.individuals import compute_fitness
from erlbench.algorithms.search.search import Individual, Search, Vector
from erlbench.algorithms.search.search_distribution import ranking
from erlbench.algorithms.training.gradient_tasks import joint_task
from erlbench.errors import UsageError
from erlbench.settings import at_least_one, at_least_zero, fraction
from erlbench.work.tasks import ArrayRef, Output, Result, Task

ERL, RAINBOW, OURS = "ERL, public code", "EvoRainbow, public code", "this suite"
WARM = 5  # batches in the replay before updates begin, as in ERL


@dataclass(frozen=True, kw_only=True)
class SideSettings:
    """Hyper-parameters of the coupling `side`."""

    sync_period: int = at_least_one(
        1, "generations (or as many individuals) between copies of the learner's actor", RAINBOW, by_env={"Swimmer": 10}
    )
    soft_update: float = fraction(0.1, "how far the learner's actor moves to a generation's best individual", RAINBOW)
    updates_per_step: float = at_least_zero(1.0, "updates per environment step of a generation", ERL)
    exploration_noise: float = at_least_zero(0.1, "standard deviation of the learner's noise on actions", RAINBOW)
    ou_theta: float = fraction(1.0, "how much of that noise decays per step; 1: white noise", RAINBOW)
    validation_every: int = at_least_zero(
        0, "generations between validations of mean, learner and champion, which only report; 0: none", OURS
    )
    validation_episodes: int = at_least_one(10, "episodes of each validated policy", RAINBOW)
    final_scale: float = at_least_zero(0.1, "factor of the initial last layers of critics and learner's actor", ERL)


@dataclass(kw_only=True)
class SideState(CouplingState):
    """The learner, and where its actor is."""

    learner: ArrayRef | Output  # see `Learner.start`
    actor: ArrayRef | Output  # its policy alone
    place: int | None = None  # of its actor in the generation under way
    next_place: int | None = None  # of the worst individual, where the actor goes next
    generations: int = 0
    pending: Vector | None = None  # the best individual, towards which the actor moves when its updates are done
    champion: Vector | None = None  # the best individual of the generation before
    episode: float = math.nan  # return of its latest noisy episode
    learner_return: float = math.nan  # of the generation before, as what follows
    rank: int = 0  # of the copy, 1 is best; 0: there was none
    critic_loss: float = 0.0  # mean over the last block of updates


class SideCoupling(Coupling):
    """`side`: a learner next to the population, injected in place of the worst, updated softly from the best."""

    settings_type: ClassVar[type] = SideSettings
    shares_critic: ClassVar[bool] = False
    learner_function: ClassVar[str] = "joint_function"
    state: SideState

    def start(self) -> SideState:
        return SideState(**self.fresh())

    @classmethod
    def check(cls, settings: SideSettings, search: type[Search[Any, Any]], search_settings: Any) -> None:
        if search.count_population(search_settings) < 2:
            raise UsageError("coupling=side replaces the worst of a population, and one individual is all of it")

    def tell(self, task: Task, result: Result) -> bool:
        state = self.state
        if task.kind == "critic":
            state.learner, state.actor = result.arrays["learner"], result.arrays["actor"]
            state.critic_loss = result.values["critic_loss"]
        elif task.kind == "rl":
            state.episode = compute_fitness(result)
        else:
            return super().tell(task, result)
        state.under_way -= 1
        self._move_softly()
        return True

    def metrics(self) -> dict[str, float]:
        state = self.state
        columns = {"learner_return": state.learner_return, "learner_rank": state.rank, "critic_loss": state.critic_loss}
        return columns | self.scores()

    # -- in generations -------------------------------------------------------------------------------------------

    def ask_before(self, steps: int, warm: bool) -> list[Task]:
        """As many updates as the last generation had steps; the learner's episode and its copy wait for them."""
        state, run = self.state, self.run
        updates = int(self.settings.updates_per_step * steps)
        if not (updates and warm and run.context.replay.length > WARM * run.settings.batch_size):
            return []
        task = joint_task(run, state.learner, updates)
        state.learner, state.actor = task.output("learner"), task.output("actor")
        state.under_way += 1
        return [task]

    def inject(self, individuals: list[Vector | Output]) -> None:
        state = self.state
        state.place, state.next_place = state.next_place, None
        if state.place is not None:
            state.place = min(state.place, len(individuals) - 1)
            individuals[state.place] = state.actor

    def comes_from_outside(self, z: Vector) -> bool:
        return self.state.place is not None and z == self.state.actor

    def ask_beside(self, individuals: int) -> list[Task]:
        """The learner's episode, with noise on actions that it does not draw."""
        state, settings = self.state, self.settings
        state.under_way += 1
        noise = 0.0 if self.run.learner.stochastic else settings.exploration_noise
        fields = {"action_noise": noise, "noise_decay": settings.ou_theta}
        noisy = self.run.rollout(state.actor, kind="rl", record=True, individual=individuals, **fields)
        return [noisy, *self.validations(state.actor, state.champion)]

    def end(self, individuals: Sequence[Individual]) -> None:
        """After the search was told: where the copy goes next, and the soft update."""
        state, order = self.state, ranking([individual.fitness for individual in individuals])
        state.learner_return, state.champion = state.episode, individuals[order[0]].z
        state.rank = 0 if state.place is None else order.index(state.place) + 1
        state.generations += 1
        if state.generations % self.settings.sync_period == 0:
            worst = order[-1]
            state.next_place = (worst + 1) % len(order) if worst == self.run.search.spared else worst
        if order[0] != state.place and not individuals[order[0]].injected and self.settings.soft_update:
            state.pending = individuals[order[0]].z
            self._move_softly()

    def _move_softly(self) -> None:
        """Actor and target actor <- (1 - tau) actor + tau best."""
        state, run = self.state, self.run
        if state.pending is None or state.under_way:
            return
        assert isinstance(state.learner, ArrayRef)
        learner, best = run.context.store.get(state.learner), run.context.store.load(state.pending)
        learner = run.learner.moved(run.policy_spec, learner, np.asarray(best), self.settings.soft_update)
        state.learner, state.pending = run.share(learner), None
        state.actor = run.share(run.learner.actor(run.policy_spec, learner))

    # -- in the steady state --------------------------------------------------------------------------------------

    def replaces(self, number: int) -> ArrayRef | None:
        """Every so many individuals the next one is the learner's actor, in place of a sample."""
        period = self.settings.sync_period * self.run.search.count_population(self.run.search.settings)
        assert isinstance(self.state.actor, ArrayRef)
        return self.state.actor if number % period == period - 1 else None

    def stream(self, updates: int) -> list[Task]:
        self.state.under_way += 1
        return [joint_task(self.run, self.state.learner, updates)]
