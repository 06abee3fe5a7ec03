"""AES-RL: an asynchronous evolution strategy some of whose individuals are trained by TD3's gradients.

Lee, Lee, Shin, Kweon, "An Efficient Asynchronous Method for Integrating Evolutionary and Gradient-based Policy
Search", NeurIPS 2020, with what only its public code says (github.com/KyunghyunLee/aes-rl). Each worker takes one
individual through its life on its own: sample, train by gradients or not, one episode, then the episodes of a
snapshot of the mean, and the update of the search distribution. A critic learns beside them all the time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from erlbench.algorithms.base import Algorithm, Context
from erlbench.algorithms.individuals import fitness_of, start_states
from erlbench.algorithms.parts.aes_rl_settings import PRESETS, RANDOM, AESRLSettings
from erlbench.algorithms.policy_settings import initial_mean
from erlbench.algorithms.search.fitness_scale import FitnessScale
from erlbench.algorithms.search.mean_updates import OLDEST, move, oldest, update_ratio
from erlbench.algorithms.search.search_distribution import (
    PARAMETERS_AT_ONCE,
    SearchDistribution,
    cem_variance,
    decayed,
    elite_weights,
    ranking,
    weighted_moments,
)
from erlbench.algorithms.search.variance_updates import (
    ONLINE_ADAPTIVE,
    ONLINE_FIXED,
    RANK_BASED,
    SUCCESS_RULE_FROZEN,
    freeze,
    online_adaptive,
    online_fixed,
    slide,
    success_rule,
)
from erlbench.algorithms.training.gradient_tasks import (
    CriticState,
    actor_task,
    new_critic,
    next_critic_block,
    update_functions,
)
from erlbench.work.seeding import Purpose, generator
from erlbench.work.tasks import ArrayRef, Counts, Input, Perturbed, Result, Task

__all__ = ["AESRL", "PRESETS", "AESRLSettings", "AESRLState", "Individual", "Ranked"]


@dataclass(kw_only=True)
class Individual:
    """One individual on its way: sampled, perhaps trained, evaluated, compared with the mean."""

    kind: str  # es, rl, or random: with random actions
    parameters: Perturbed | ArrayRef  # a vector in the store once it is trained
    born: int  # generation at which it was sampled
    number: int = 0  # of individuals sampled before it
    fitness: float | None = None  # f(z), once known
    snapshot: ArrayRef | None = None  # the mean when its episode ended, until its measurement is asked for


@dataclass
class Ranked:
    """An evaluated individual that the rank-based rules still know."""

    parameters: Perturbed | ArrayRef
    fitness: float


@dataclass(kw_only=True)
class AESRLState:
    """Everything AES-RL needs to go on."""

    distribution: SearchDistribution
    critic: CriticState
    epsilon: float  # of the rank-based variance
    individuals: dict[int, Individual] = field(default_factory=dict)  # by place among those in flight
    lengths: list[int] = field(default_factory=list)  # of the last individuals' episodes
    ring: list[Ranked] = field(default_factory=list)
    successes: list[bool] = field(default_factory=list)
    launched: int = 0
    n_rl: int = 1  # launched, both from one on as in the public code
    n_es: int = 1
    last: dict[str, float] = field(default_factory=dict)  # about the latest update, for metrics
    scale: FitnessScale | None = None  # of returns, where the settings have none


def probability_of_rl(n_rl: int, n_es: int, desired: float, gain: float) -> float:
    """Eq. 3: clip(-K_rl (n_rl / (n_rl + n_es) - p_desired) + 0.5, 0, 1), for the numbers launched so far."""
    return min(1.0, max(0.0, -gain * (n_rl / (n_rl + n_es) - desired) + 0.5))


class AESRL(Algorithm[AESRLSettings, AESRLState]):
    """AES-RL: asynchronous evolution strategy with TD3-trained individuals."""

    settings_type: ClassVar[type] = AESRLSettings
    task_functions: ClassVar[Mapping[str, type]] = {
        **Algorithm.task_functions,
        **update_functions("update_critic", "train_actor"),
    }
    default_workers: ClassVar[int | None] = 5
    critic_updates: ClassVar[float] = 1.0
    actor_updates: ClassVar[float] = 5.0
    simulated_steps: ClassVar[float] = 6.0  # an episode of each individual, and five of the mean

    def __init__(self, settings: AESRLSettings, context: Context) -> None:
        super().__init__(settings, context)
        self._weights = elite_weights(settings.elites)
        rank_based = settings.mean_update == OLDEST, settings.variance_update == RANK_BASED
        self._needs_ring = any(rank_based)
        self._needs_mean_fitness = settings.always_measure or not all(rank_based)
        mean = initial_mean(self._policy, settings, self.key(Purpose.PARAMETERS))
        distribution = SearchDistribution.create(mean, settings.initial_variance, self.share)
        self.state = AESRLState(distribution=distribution, critic=new_critic(self), epsilon=settings.initial_variance)
        if settings.scale is None and settings.scale_setting:
            self.state.scale = FitnessScale()

    @classmethod
    def is_synchronous(cls, settings: AESRLSettings) -> bool:
        return False

    def policy(self) -> ArrayRef:
        return self.state.distribution.mean_ref

    @property
    def warm(self) -> bool:
        """Whether the warm-up is over and there is enough experience to learn from."""
        enough = self.context.replay.length >= self.settings.batch_size
        return self.counters.timesteps >= self.settings.start_timesteps and enough

    @classmethod
    def depends_on_budget(cls, settings: AESRLSettings) -> str:
        return ""

    # -- ask ------------------------------------------------------------------------------------------------------

    def _ask(self) -> list[Task]:
        """Measurements of the mean, a new individual for every free place, and the critic's next block."""
        tasks = [
            self._measurement(place, individual)
            for place, individual in self.state.individuals.items()
            if individual.snapshot is not None
        ]
        if not self.exhausted:
            free = [place for place in range(self.context.workers) if place not in self.state.individuals]
            for place in free if self._critic_keeps_up else ():
                tasks += self._launch(place)
            tasks += self._critic_block()
        return tasks

    @property
    def _critic_keeps_up(self) -> bool:
        """Whether individuals need not wait for the critic; with `critic_ratio` it may be one block behind."""
        settings, counters = self.settings, self.counters
        if settings.critic_ratio is None or not self.warm:
            return True
        return counters.critic_updates + settings.critic_block > settings.critic_ratio * counters.timesteps

    def _launch(self, place: int) -> list[Task]:
        """Sample an individual (no antithetic pairs), train it by gradients or not, and play its episodes."""
        state, number = self.state, self.state.launched
        z = state.distribution.sample(self.key(Purpose.NOISE, number))
        kind = self._choose(number)
        state.launched += 1
        state.individuals[place] = Individual(kind=kind, parameters=z, born=self.counters.generation, number=number)
        if kind != "rl":
            return [self._evaluation(z, place)]
        view = self.context.replay.view(self.settings.replay_size)
        training = actor_task(self, z, state.critic.parameters, sum(state.lengths), view, place)
        trained = training.output("parameters")
        return [training, self._evaluation(trained, place)]

    def _evaluation(self, parameters: Input, place: int) -> Task:
        """The episodes that are an individual's fitness; they go to the replay."""
        individual = self.state.individuals[place]
        return self.rollout(
            parameters,
            kind=individual.kind,
            episodes=self.settings.episodes,
            seeds=start_states(self, individual.number),
            record=True,
            random_actions=individual.kind == "random",
            mode=not self.settings.stochastic,
            individual=place,
        )

    def _choose(self, number: int) -> str:
        """The kind of the next individual: eq. 3 against a uniform number; no RL during the warm-up."""
        settings, state = self.settings, self.state
        if not self.warm:
            return "random" if settings.warmup == RANDOM else "es"
        p_rl = probability_of_rl(state.n_rl, state.n_es, settings.p_desired, settings.k_rl)
        if generator(*self.key(Purpose.POPULATION, number)).random() < p_rl:
            state.n_rl += 1
            return "rl"
        state.n_es += 1
        return "es"

    def _measurement(self, place: int, individual: Individual) -> Task:
        """The episodes that measure f(mu) on the mean of the moment when the individual's episodes ended.

        Shared start states are the individual's, as far as there are as many.
        """
        snapshot, individual.snapshot = individual.snapshot, None
        assert snapshot is not None
        episodes = self.settings.mean_episodes
        seeds = start_states(self, individual.number, episodes)
        return self.rollout(
            snapshot,
            kind="mean",
            counts=Counts.FITNESS,
            episodes=episodes,
            mode=not self.settings.stochastic,
            individual=place,
            seeds=seeds,
        )

    def _critic_block(self) -> list[Task]:
        """The next block of critic updates: one at a time, never begun ahead of the timesteps times their ratio."""
        settings, critic = self.settings, self.state.critic
        ratio = 1.0 if settings.critic_ratio is None else settings.critic_ratio
        if critic.in_flight or not self.warm or critic.step >= ratio * self.counters.timesteps:
            return []
        return [next_critic_block(self, critic)]

    # -- tell -----------------------------------------------------------------------------------------------------

    def _tell(self, task: Task, result: Result) -> None:
        state = self.state
        if task.kind == "critic":
            state.critic.parameters, state.critic.in_flight = result.arrays["critic"], False
            return
        individual = state.individuals[task.individual]
        if task.kind == "actor":
            individual.parameters = result.arrays["parameters"]
        elif task.kind == "mean":
            returns = result.values["returns"]
            self._finish(task.individual, math.fsum(returns) / len(returns))
        else:
            state.lengths = [*state.lengths, *result.values["lengths"]][-self.settings.actor_episodes :]
            self._evaluated(task.individual, individual, fitness_of(result))

    def _evaluated(self, place: int, individual: Individual, fitness: float) -> None:
        """An individual's episodes have ended: measure the mean, or go on if f(mu) is not needed."""
        individual.fitness = fitness
        if self.state.scale is not None:
            self.state.scale.add(fitness, self.warm)
        if individual.kind == "random" and not self.settings.tell_in_warmup:
            del self.state.individuals[place]
        elif self._needs_mean_fitness:
            individual.snapshot = self.policy()
        else:
            self._finish(place, math.nan)

    def _finish(self, place: int, f_mean: float) -> None:
        """Update the then-current distribution with an individual and the snapshot's score; free its place."""
        individual = self.state.individuals.pop(place)
        assert individual.fitness is not None
        p = self._update(individual.parameters, individual.fitness, f_mean)
        self.state.last = {
            "p": p,
            "f_z": individual.fitness,
            "f_mean": f_mean,
            "is_rl": float(individual.kind == "rl"),
            "staleness": self.counters.generation - individual.born,
        }
        self.counters.generation += 1

    def _update(self, parameters: Perturbed | ArrayRef, f_z: float, f_mean: float) -> float:
        """Move mean and variance; the ratio p that was used, for the oldest rule 1 / ring."""
        settings, state = self.settings, self.state
        centre, spread = self._rank(parameters, f_z) if self._needs_ring else (None, None)
        old, variance = state.distribution.mean, state.distribution.variance
        z = np.asarray(self.context.store.load(parameters))
        if settings.mean_update == OLDEST:
            p = 0.0 if centre is None else 1.0 / settings.ring
            mean = old if centre is None else oldest(old, centre, settings.ring)
        else:
            p = update_ratio(settings.mean_update, f_z, f_mean, self._scale(), settings.psg)
            mean = move(old, z, p) if p else old
        rule = settings.variance_update
        if rule == ONLINE_ADAPTIVE:
            variance = online_adaptive(variance, z, old, mean, p, settings.floor)
        elif rule == ONLINE_FIXED:
            variance = online_fixed(variance, z, old, mean, p, settings.n_fixed, settings.floor)
        elif rule == RANK_BASED:
            variance = self._rank_based(variance, spread)
        else:
            variance = self._success_rule(variance, f_z > f_mean)
        state.distribution = state.distribution.moved(mean, variance, self.share)
        return p

    def _scale(self) -> float:
        """The r or f_b of the mean update: the settings', else what the first individuals' returns give."""
        known = self.state.scale
        if known is None:
            return self.settings.scale or 0.0
        return known.worst() if self.settings.is_absolute else known.now()

    def measured(self) -> dict[str, float]:
        known = self.state.scale
        return {self.settings.scale_setting: self._scale()} if known is not None and known.known else {}

    def _rank(
        self, parameters: Perturbed | ArrayRef, fitness: float
    ) -> tuple[np.ndarray, np.ndarray] | tuple[None, None]:
        """Put an individual into the ring, in the oldest one's place; the elites' moments once the ring is full."""
        settings, state = self.settings, self.state
        state.ring = [*state.ring, Ranked(parameters, fitness)][-settings.ring :]
        if len(state.ring) < settings.ring:
            return None, None
        best = ranking([member.fitness for member in state.ring])[: settings.elites]
        elites = [self.context.store.blocks(state.ring[index].parameters, PARAMETERS_AT_ONCE) for index in best]
        return weighted_moments(state.distribution.mean, elites, self._weights)

    def _rank_based(self, variance: np.ndarray, spread: np.ndarray | None) -> np.ndarray:
        """CEM's variance of the ring; `ring` individuals decay epsilon like one generation."""
        if spread is None:
            return variance
        settings, state = self.settings, self.state
        state.epsilon = decayed(state.epsilon, settings.tau_cem ** (1.0 / settings.ring), settings.floor)
        return cem_variance(spread, state.epsilon, settings.elites, settings.extra_ke_division)

    def _success_rule(self, variance: np.ndarray, success: bool) -> np.ndarray:
        settings, state = self.settings, self.state
        remember = freeze if settings.variance_update == SUCCESS_RULE_FROZEN else slide
        state.successes, acts = remember(state.successes, success, settings.ring)
        if not acts:
            return variance
        threshold, factor = settings.success_threshold, settings.success_factor
        return success_rule(variance, state.successes, threshold, factor, settings.floor)

    def metrics(self) -> dict[str, float]:
        state, counters = self.state, self.counters
        nothing = {"p": math.nan, "f_z": math.nan, "f_mean": math.nan, "is_rl": math.nan, "staleness": math.nan}
        return {
            **(state.last or nothing),
            "variance_mean": float(state.distribution.variance.mean()),
            "n_rl": state.n_rl,
            "n_es": state.n_es,
            "critic_lag": counters.timesteps - counters.critic_updates,
        }
