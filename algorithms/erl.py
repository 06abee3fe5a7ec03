"""ERL: a genetic algorithm over actors beside one DDPG learner, which learns from everybody's experience.

Khadka and Tumer, "Evolution-Guided Policy Gradient in Reinforcement Learning", NeurIPS 2018, algorithms 1 and 2, with
the constants of its table and of its public code. From time to time the learner's actor replaces the worst individual.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from erlbench.algorithms.base import Algorithm, Context
from erlbench.algorithms.ddpg import initial_learner
from erlbench.algorithms.generation import Generation
from erlbench.algorithms.individuals import FitnessSettings, start_states
from erlbench.algorithms.search.genetic import CODE, PAPER, Genetics, GeneticSettings
from erlbench.algorithms.search.search_distribution import ranking
from erlbench.algorithms.training.critic import critic_spec
from erlbench.algorithms.training.gradient_tasks import update_functions, update_task
from erlbench.algorithms.training.learners import MODULE
from erlbench.algorithms.training.update_settings import DDPGUpdate, Updates
from erlbench.policy import ACTIVATIONS, initial_policy
from erlbench.settings import setting
from erlbench.work.seeding import Purpose, generator
from erlbench.work.tasks import ArrayRef, Input, Output, Result, Task

WARM = 5  # batches in the replay before updates begin
PRESETS: Mapping[str, Mapping[str, Any]] = {"paper": {}}


@dataclass(frozen=True, kw_only=True)
class ERLSettings(GeneticSettings, FitnessSettings):
    """Hyper-parameters of ERL."""

    episodes: int = setting(
        1, "episodes whose mean return is an individual's fitness", PAPER,
        by_env={"Hopper": 5, "Reacher": 5, "Walker2d": 3}, minimum=1,
    )  # fmt: skip
    sync_period: int = setting(
        10, "generations between two copies of the learner's actor", PAPER, by_env={"Hopper": 1, "Ant": 1}, minimum=1
    )
    update_ratio: float = setting(1.0, "updates per environment step of a generation", CODE, minimum=0)
    hidden: tuple[int, ...] = setting((128, 128), "widths of the actors' hidden layers", CODE, minimum=1)
    activation: str = setting("tanh", "hidden activation of the actors", CODE, choices=ACTIVATIONS)
    critic_hidden: tuple[int, ...] = setting((400, 300), "widths of the critic's hidden layers", CODE, minimum=1)
    critic_activation: str = setting("relu", "hidden activation of the critic", "ours; the code has ELU",
                                     choices=ACTIVATIONS)  # fmt: skip
    actor_learning_rate: float = setting(5e-5, "Adam's step size for the learner's actor", PAPER, minimum=0)
    critic_learning_rate: float = setting(5e-4, "Adam's step size for the critic", PAPER, minimum=0)
    critic_weight_decay: float = setting(0.0, "L2 penalty of the critic, added to its gradient", CODE, minimum=0)
    critic_gradient_clip: float | None = setting(
        10.0, "bound of the norm of the critic's gradient; none: no bound", CODE, minimum=0
    )
    final_scale: float = setting(
        0.1, "factor of the initial last layers of the critic and of the learner's actor", CODE, minimum=0
    )
    batch_size: int = setting(128, "transitions per update", PAPER, minimum=1)
    discount: float = setting(0.99, "discount factor gamma", PAPER, minimum=0, maximum=1)
    tau: float = setting(0.001, "how far the targets move at a time", PAPER, minimum=0, maximum=1)
    exploration_noise: float = setting(
        0.06, "sigma of the learner's Ornstein-Uhlenbeck noise: 0.2, scaled by 0.3", CODE, minimum=0
    )
    ou_theta: float = setting(0.15, "how much of that noise decays per step", CODE, minimum=0, maximum=1)
    replay_size: int = setting(1_000_000, "the latest transitions that are learnt from", PAPER, minimum=1)


@dataclass(kw_only=True)
class ERLState(Generation):
    """Everything ERL needs to go on."""

    learner: ArrayRef | Output  # see ddpg.initial_learner
    actor: ArrayRef | Output  # the learner's actor alone
    individuals: list[ArrayRef | Output]
    champion: ArrayRef  # the best of the generation before
    learner_return: float | None = None  # of this generation's noisy episode
    running: bool = False  # whether a generation is under way
    copied_to: int | None = None  # the place of the learner's actor among the individuals
    # of the generation before:
    noisy: float = math.nan  # return of the learner's noisy episode
    rank: int = 0  # of the learner's copy, 1 is best; 0: there was none
    critic_loss: float = 0.0  # mean over the last block of updates


class ERL(Algorithm[ERLSettings, ERLState]):
    """Evolutionary reinforcement learning: a genetic algorithm with a DDPG learner that joins it now and then."""

    settings_type: ClassVar[type] = ERLSettings
    task_functions: ClassVar[Mapping[str, type]] = {**Algorithm.task_functions, **update_functions("update_ddpg")}
    critic_updates: ClassVar[float] = 1.0
    actor_updates: ClassVar[float] = 1.0

    def __init__(self, settings: ERLSettings, context: Context) -> None:
        super().__init__(settings, context)
        self._critic = critic_spec(self._policy, settings.critic_hidden, settings.critic_activation, 1)
        self._genetics = Genetics(self._policy, settings)
        key = self.key(Purpose.PARAMETERS)
        learner = initial_learner(self._policy, self._critic, None, (*key, 0), settings.final_scale)
        individuals: list[ArrayRef | Output] = [
            self.share(initial_policy(self._policy, (*key, 1, index))) for index in range(settings.population)
        ]
        champion = individuals[0]
        assert isinstance(champion, ArrayRef)
        self.state = ERLState(
            learner=self.share(learner),
            actor=self.share(learner[: self._policy.size]),
            individuals=individuals,
            champion=champion,
        )

    @classmethod
    def depends_on_budget(cls, settings: ERLSettings) -> str:
        return ""

    def policy(self) -> ArrayRef:
        """The champion of the last generation."""
        return self.state.champion

    def _ask(self) -> list[Task]:
        """The learner's updates from the last generation, and beside them the next generation."""
        state, settings = self.state, self.settings
        if state.running or self.exhausted:
            return []
        state.running = True
        tasks = self._updates() if self.counters.generation else []
        seeds = start_states(self, self.counters.generation)
        tasks += self.rollouts(state.individuals, kind="es", episodes=settings.episodes, record=True, seeds=seeds)
        noisy = self.rollout(
            state.actor, kind="rl", record=True, action_noise=settings.exploration_noise,
            noise_decay=settings.ou_theta, individual=settings.population,
        )  # fmt: skip
        return [*tasks, noisy]

    def _updates(self) -> list[Task]:
        """As many updates as the last generation had steps; the copy of the learner's actor waits for them."""
        state, settings, counters = self.state, self.settings, self.counters
        updates = int(settings.update_ratio * state.previous_steps)
        tasks = []
        if updates and self.context.replay.length > WARM * settings.batch_size:
            view = self.context.replay.view(settings.replay_size)
            inputs: dict[str, Input] = {"learner": state.learner, "replay": view}
            update = DDPGUpdate.of(settings, self._policy, self._critic)
            values = Updates(update, updates, counters.critic_updates, counters.actor_updates)
            tasks = [update_task(self, "critic", f"{MODULE}:update_ddpg", values, inputs)]
            number = tasks[0].id
            state.learner, state.actor = Output(number, "learner"), Output(number, "actor")
        if state.copied_to is not None:
            state.individuals[state.copied_to] = state.actor
        return tasks

    def _tell(self, task: Task, result: Result) -> None:
        state = self.state
        if task.kind == "critic":
            before = state.actor
            state.learner, state.actor = result.arrays["learner"], result.arrays["actor"]
            state.individuals = [state.actor if z == before else z for z in state.individuals]
            state.critic_loss = result.values["critic_loss"]
            return
        if task.kind == "rl":
            state.learner_return = result.values["returns"][0]
            state.steps += sum(result.values["lengths"])
        else:
            state.take(task.individual, result)
        if len(state.fitness) == len(state.individuals) and state.learner_return is not None:
            self._evolve()

    def _evolve(self) -> None:
        """Algorithm 1, lines 9 to 15: rank, select, cross over, mutate; now and then the learner's actor comes in."""
        state, settings, store = self.state, self.settings, self.context.store
        fitness = state.in_order
        ranks = ranking(fitness)
        champion = state.individuals[ranks[0]]
        assert isinstance(champion, ArrayRef)
        assert state.learner_return is not None
        state.champion, state.noisy = champion, state.learner_return
        state.rank = 0 if state.copied_to is None else ranks.index(state.copied_to) + 1
        population = [np.asarray(store.load(z)) for z in state.individuals]
        before = list(population)
        random = generator(*self.key(Purpose.NOISE, self.counters.generation))
        self._genetics.epoch(population, ranks, random)
        state.individuals = [
            ref if new is old else self.share(new) for ref, new, old in zip(state.individuals, population, before)
        ]
        self.counters.generation += 1
        due = self.counters.generation % settings.sync_period == 0
        state.copied_to = ranks[-1] if due else None
        state.learner_return, state.running = None, False
        state.end(fitness)

    def metrics(self) -> dict[str, float]:
        state = self.state
        return {
            **state.extremes(),
            "learner_return": state.noisy,
            "learner_rank": state.rank,
            "critic_loss": state.critic_loss,
            "steps": state.previous_steps,
        }
