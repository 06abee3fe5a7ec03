"""The coupling `side`: one learner beside the population, as in ERL, PDERL and EvoRainbow.

Khadka and Tumer, "Evolution-Guided Policy Gradient in Reinforcement Learning" (ERL), NeurIPS 2018: it learns from
everybody's transitions, plays with noise, and now and then replaces the worst individual. Li et al., "EvoRainbow", ICML
2024: its actor also moves a little towards the best individual. With `search=cem`, `learner=td3` this is EvoRainbow-Exp
but for its updates, which are CEM-RL's: so `half` and `side` differ in nothing but in who is trained.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from erlbench.algorithms.coupling import Coupling, CouplingState
from erlbench.algorithms.individuals import fitness_of
from erlbench.algorithms.search.search import Individual, Search, Vector
from erlbench.algorithms.search.search_distribution import ranking
from erlbench.algorithms.training.gradient_tasks import actor_task, critic_task
from erlbench.errors import UsageError
from erlbench.policy import initial_policy
from erlbench.settings import setting
from erlbench.work.seeding import Purpose
from erlbench.work.tasks import ArrayRef, Input, Result, Task

ERL, RAINBOW, OURS = "ERL", "EvoRainbow, public code", "this suite"
BESIDE = 100_000  # the learner's number among individuals, above those of all populations


@dataclass(frozen=True, kw_only=True)
class SideSettings:
    """Hyper-parameters of the coupling `side`."""

    sync_period: int = setting(
        1, "generations (or as many individuals) between two copies of the learner's actor", RAINBOW,
        by_env={"Swimmer": 10}, minimum=1,
    )  # fmt: skip
    soft_update: float = setting(
        0.1, "how far the learner's actor moves to the best individual of a generation", RAINBOW, minimum=0, maximum=1
    )
    side_blocks: int = setting(
        10, "turns of critic and actor in a generation, whose steps they share as updates", OURS, minimum=1
    )
    exploration_noise: float = setting(0.1, "standard deviation of the learner's noise on actions", RAINBOW, minimum=0)


@dataclass(kw_only=True)
class SideState(CouplingState):
    """The learner's actor; its critic is the run's."""

    actor: ArrayRef
    under_way: int = 0  # its tasks
    place: int | None = None  # of the learner's actor in the generation under way
    next_place: int | None = None  # that of the worst individual, where the actor goes next
    generations: int = 0
    pending: Vector | None = None  # the best individual, towards which the actor moves when its updates are done
    learner_return: float = math.nan  # of its last noisy episode
    rank: int = 0  # of the copy in the last generation, 1 is best; 0: there was none


class SideCoupling(Coupling):
    """`side`: a learner beside the population, injected in place of the worst, updated softly from the best."""

    settings_type: ClassVar[type] = SideSettings
    state: SideState

    def start(self) -> SideState:
        run = self.run
        actor = initial_policy(run.policy_spec, run.key(Purpose.PARAMETERS, 2))
        return SideState(actor=run.share(actor))

    @classmethod
    def check(cls, settings: SideSettings, search: type[Search[Any, Any]], search_settings: Any) -> None:
        if search.population_of(search_settings) < 2:
            raise UsageError("coupling=side replaces the worst of a population, and one individual is all of it")

    @classmethod
    def trains(cls, settings: SideSettings) -> int:
        return 1

    # -- in generations -------------------------------------------------------------------------------------------

    def inject(self, individuals: list[Vector]) -> None:
        state = self.state
        state.place, state.next_place = state.next_place, None
        if state.place is not None:
            state.place = min(state.place, len(individuals) - 1)
            individuals[state.place] = state.actor

    @property
    def injected(self) -> tuple[int, ...]:
        return () if self.state.place is None else (self.state.place,)

    def beside(self, steps: int, warm: bool) -> list[Task]:
        """The learner's noisy episode, and beside it its updates: as many as the last generation had steps."""
        run, state = self.run, self.state
        noisy = run.rollout(
            state.actor, kind="rl", record=True, action_noise=self.settings.exploration_noise, individual=BESIDE
        )
        tasks, latest, actor = [noisy], run.critic.parameters, state.actor
        view = run.context.replay.view(run.settings.replay_size)
        updates = steps // self.settings.side_blocks if warm else 0
        turn: tuple[Input, Input] = (latest, actor)
        for _ in range(self.settings.side_blocks if updates else 0):
            block, training = self._turn(turn, updates, view)
            turn = block.output("critic"), training.output("parameters")
            tasks += [block, training]
        state.under_way += len(tasks)
        return tasks

    def _turn(self, turn: tuple[Input, Input], updates: int, view: Any) -> tuple[Task, Task]:
        """So many updates of the critic towards the actor's targets, and of the actor up that critic."""
        run, (critic, actor) = self.run, turn
        block = critic_task(run, critic, actor, updates, run.critic.step, view, individual=BESIDE)
        run.critic.step += updates
        return block, actor_task(run, actor, block.output("critic"), updates, view, individual=BESIDE)

    @property
    def ready(self) -> bool:
        return not self.state.under_way

    def end(self, individuals: Sequence[Individual]) -> None:
        """After the search was told: where the copy goes next, and the soft update."""
        state, order = self.state, ranking([each.fitness for each in individuals])
        state.rank = 0 if state.place is None else order.index(state.place) + 1
        state.generations += 1
        if state.generations % self.settings.sync_period == 0:
            state.next_place = order[-1]
        if order[0] != state.place and not individuals[order[0]].injected and self.settings.soft_update:
            state.pending = individuals[order[0]].z
            self._move_softly()

    def _move_softly(self) -> None:
        state, tau, load = self.state, self.settings.soft_update, self.run.search.load
        if state.pending is None or state.under_way:
            return
        moved = (1.0 - tau) * load(state.actor) + tau * load(state.pending)
        state.actor, state.pending = self.run.share(moved.astype(np.float32)), None

    # -- in the steady state --------------------------------------------------------------------------------------

    def replaces(self, number: int) -> ArrayRef | None:
        """Every so many individuals the next one is the learner's actor, in place of a sample."""
        period = self.settings.sync_period * self.run.search.population_of(self.run.search.settings)
        return self.state.actor if number % period == period - 1 else None

    def stream(self, updates: int) -> list[Task]:
        """The next turn of critic and actor; none while one is under way."""
        if self.state.under_way:
            return []
        run = self.run
        view = run.context.replay.view(run.settings.replay_size)
        tasks = self._turn((run.critic.parameters, self.state.actor), updates, view)
        run.critic.in_flight = True
        self.state.under_way += 2
        return [*tasks]

    # -- both -----------------------------------------------------------------------------------------------------

    def tell(self, task: Task, result: Result) -> bool:
        if task.individual != BESIDE:
            return False
        run, state = self.run, self.state
        state.under_way -= 1
        if task.kind == "critic":
            run.critic.parameters = result.arrays["critic"]
        elif task.kind == "actor":
            state.actor = result.arrays["parameters"]
            run.critic.in_flight = False
            self._move_softly()
        else:
            state.learner_return = fitness_of(result)
        return True

    def metrics(self) -> dict[str, float]:
        return {"learner_return": self.state.learner_return, "learner_rank": self.state.rank}
