"""OpenAI-ES: an evolution strategy with mirrored perturbations of one mean, ranks, and Adam.

Salimans, Ho, Chen, Sidor, Sutskever, "Evolution Strategies as a Scalable Alternative to Reinforcement Learning",
2017 (arXiv 1703.03864), Algorithm 2, with details of its public code (github.com/openai/
evolution-strategies-starter). A task names its perturbation by a key, and its result is a return and a length.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from erlbench.algorithms.base import Algorithm, Context, Needs
from erlbench.algorithms.individuals import compute_fitness, nan_as_worst, start_states
from erlbench.algorithms.parts.openai_es_settings import DISCARD, PAIR, PRESETS, SGD, OpenAIESSettings
from erlbench.algorithms.policy_settings import initial_mean, make_policy_spec, play_reference
from erlbench.algorithms.search.evolution_strategy import (
    NOISE_SUM,
    NoiseSum,
    gradient,
    gradient_tasks,
    mirrored_weights,
    shaped,
)
from erlbench.algorithms.search.observation_statistics import ObservationStatistics
from erlbench.algorithms.search.optimisers import Adam, Moments, Optimiser, Sgd
from erlbench.algorithms.search.time_limit import ENVIRONMENT, TimeLimit
from erlbench.envs.registry import Problem
from erlbench.errors import UsageError
from erlbench.policy import PolicySpec
from erlbench.policy.pixels import pack_frames
from erlbench.work.noise import NoiseTable
from erlbench.work.seeding import Purpose, environment_seed, generator
from erlbench.work.tasks import ArrayRef, Perturbed, Result, Task

__all__ = ["PRESETS", "OpenAIES", "OpenAIESSettings"]


@dataclass
class Pair:
    """Two individuals with the same noise and opposite signs, while they play."""

    generation: int
    number: int  # within the generation; names the noise
    results: dict[int, Result] = field(default_factory=dict)  # 0: plus, 1: minus


@dataclass(kw_only=True)
class Gathered:
    """What a generation has gathered so far."""

    launched: int = 0  # pairs
    returns: dict[int, list[float]] = field(default_factory=dict)  # pair -> fitness of plus and minus
    lengths: list[int] = field(default_factory=list)  # of all their episodes
    mean_returns: list[float] = field(default_factory=list)  # of the mean's episodes
    blocks: int = 0  # of the gradient, asked for when the generation is full
    sums: list[Result] = field(default_factory=list)  # those that are there
    stale: int = 0  # episodes that came too late


@dataclass(kw_only=True)
class OpenAIESState:
    """Everything OpenAI-ES needs to go on."""

    mean: np.ndarray  # (P,) float64, what is learnt
    moments: Moments
    statistics: ObservationStatistics
    policy: ArrayRef  # the mean as a policy, with the statistics at the generation's start
    limit: int  # of episodes, in steps
    pairs: dict[int, Pair] = field(default_factory=dict)  # by place among those in flight
    current: Gathered = field(default_factory=Gathered)
    unperturbed: int = 0  # episodes of the mean that are under way
    last: dict[str, float] = field(default_factory=dict)  # about the latest update, for metrics


class OpenAIES(Algorithm[OpenAIESSettings, OpenAIESState]):
    """OpenAI's evolution strategy: mirrored perturbations, centred ranks, Adam; sends scalars only."""

    settings_type: ClassVar[type] = OpenAIESSettings
    task_functions: ClassVar[Mapping[str, type]] = {**Algorithm.task_functions, NOISE_SUM: NoiseSum}
    default_workers: ClassVar[int | None] = 10
    bounded: ClassVar[bool] = False

    def __init__(self, settings: OpenAIESSettings, context: Context) -> None:
        super().__init__(settings, context)
        problem = context.problem
        self._size = self.policy_spec.learnt_size
        self._noise = 0.0 if problem.discrete else settings.action_noise
        longest = problem.env.max_episode_steps
        self._limit = TimeLimit.parse(settings.time_limit, min(longest, settings.time_limit_max or longest))
        self._shortened = settings.time_limit != ENVIRONMENT or self._limit.highest < longest
        self._optimiser: Optimiser = Adam(settings.learning_rate)
        if settings.optimizer == SGD:
            self._optimiser = Sgd(settings.learning_rate, settings.momentum)
        size = settings.noise_table
        self._table = NoiseTable(size, settings.noise_table_seed) if size else None
        if self._table:  # in shared memory from now on; also after a resume, as it is in no checkpoint
            context.store.hold(self._table)
        vector = initial_mean(self.policy_spec, settings, self.key(Purpose.PARAMETERS))
        if self.policy_spec.reference:
            images = play_reference(problem.env, self.policy_spec, self.key(Purpose.EPISODE))
            vector[self._size :] = pack_frames(images)
        mean = vector[: self._size].astype(np.float64)
        statistics = ObservationStatistics.create(0 if problem.image else problem.observation_size)
        self.state = OpenAIESState(
            mean=mean,
            moments=self._optimiser.start(self._size),
            statistics=statistics,
            policy=self.share(vector),
            limit=self._limit.first,
        )

    @classmethod
    def is_synchronous(cls, settings: OpenAIESSettings) -> bool:
        return settings.stale != DISCARD

    @classmethod
    def depends_on_budget(cls, settings: OpenAIESSettings) -> str:
        return "the last generation ends with the budget (timesteps_per_batch)" if settings.timesteps_per_batch else ""

    @classmethod
    def needs(cls, settings: OpenAIESSettings, problem: Problem) -> Needs:
        """The table of noise is float32, in shared memory."""
        steps = max(super().needs(settings, problem).steps, settings.timesteps_per_batch)
        return Needs(steps, memory=4.0 * settings.noise_table)

    @classmethod
    def policy_for(cls, settings: OpenAIESSettings, problem: Problem) -> PolicySpec:
        return make_policy_spec(problem, settings, normalisation=settings.normalise_observations)

    @classmethod
    def check(cls, settings: OpenAIESSettings, problem: Problem) -> None:
        super().check(settings, problem)
        size, needed = settings.noise_table, cls.policy_for(settings, problem).learnt_size
        if 0 < size < needed:
            raise UsageError(
                f"noise_table ({size}) must be at least as long as the policy's {needed} parameters, or 0 for none"
            )

    def policy(self) -> ArrayRef:
        return self.state.policy

    # -- ask ------------------------------------------------------------------------------------------------------

    def _ask(self) -> list[Task]:
        """The blocks of the gradient of a full generation, else pairs that it still needs."""
        tasks = [] if self.exhausted else self._launches()
        if self._full and not self.state.current.blocks:
            tasks += self._gradient()
        return tasks

    def _launches(self) -> list[Task]:
        """New pairs: a round when the last one is complete, or one for every free place."""
        state, current = self.state, self.state.current
        if not self.is_synchronous(self.settings):
            places = [place for place in range(max(1, self.context.workers // 2)) if place not in state.pairs]
        elif self._under_way or self._full:
            places = []
        elif not current.launched:
            places = list(range(self.settings.population // 2))
        else:
            missing = self.settings.timesteps_per_batch - sum(current.lengths)
            places = list(range(math.ceil(missing * len(current.returns) / sum(current.lengths))))
        return [task for place in places for task in self._launch(place)]

    @property
    def _full(self) -> bool:
        """Whether the generation has all that its update needs; at the end of the budget, all that there will be."""
        current, settings = self.state.current, self.settings
        waits = self._under_way if self.is_synchronous(settings) else self.state.pairs and self.exhausted
        if not current.returns or waits:
            return False
        enough = (
            2 * len(current.returns) >= settings.population and sum(current.lengths) >= settings.timesteps_per_batch
        )
        return enough or self.exhausted

    @property
    def _under_way(self) -> bool:
        """Whether episodes of the generation are not told yet: what comes next must not depend on who is faster."""
        return bool(self.state.pairs) or self.state.unperturbed > 0

    def _launch(self, place: int) -> list[Task]:
        """The next pair, and with probability `mean_share` an episode of the mean."""
        state, settings, generation = self.state, self.settings, self.counters.generation
        number = state.current.launched
        state.current.launched += 1
        state.pairs[place] = Pair(generation, number)
        key = self.key(Purpose.NOISE, generation, number)
        tasks = self.rollouts(
            [Perturbed(state.policy, settings.sigma, key, sign, self._table, self._size) for sign in (1, -1)],
            kind="es",
            episodes=settings.episodes,
            action_noise=self._noise,
            individual=2 * place,
            seeds=self._start_states(generation, number),
            limit=state.limit if self._shortened else None,
            observe=settings.observation_share if settings.normalise_observations else 0.0,
        )
        draws = generator(*self.key(Purpose.POPULATION, generation, number)) if settings.mean_share else None
        if draws and draws.random() < settings.mean_share:
            tasks.append(self.rollout(state.policy, kind="unperturbed", individual=2 * place, mode=True))
            state.unperturbed += 1
        return tasks

    def _start_states(self, generation: int, number: int) -> list[int]:
        if self.settings.start_states != PAIR:
            return start_states(self, generation)
        key = self.key(Purpose.EPISODE, generation, number)
        return [environment_seed(*key, episode) for episode in range(self.settings.episodes)]

    def _gradient(self) -> list[Task]:
        """The tasks that add up the perturbations of the generation, in the order of their numbers."""
        current, settings = self.state.current, self.settings
        numbers = sorted(current.returns)
        fitness = nan_as_worst(np.array([current.returns[number] for number in numbers]))
        weights = mirrored_weights(shaped(fitness, settings.shaping), settings.sigma, settings.scaling)
        keys = [self.key(Purpose.NOISE, self.counters.generation, number) for number in numbers]
        tasks = gradient_tasks(self, keys, weights, self._size, self._table)
        current.blocks = len(tasks)
        return tasks

    # -- tell -----------------------------------------------------------------------------------------------------

    def _tell(self, task: Task, result: Result) -> None:
        current = self.state.current
        if task.kind == "unperturbed":
            current.mean_returns += result.values["returns"]
            self.state.unperturbed -= 1
        elif task.kind == "gradient":
            current.sums.append(result)
            if len(current.sums) == current.blocks:
                self._update()
        else:
            place, sign = divmod(task.individual, 2)
            pair = self.state.pairs[place]
            pair.results[sign] = result
            if len(pair.results) == 2:
                del self.state.pairs[place]
                self._complete(pair)

    def _complete(self, pair: Pair) -> None:
        """Take a pair in, or count it as stale if its generation is over or full."""
        current, results = self.state.current, [pair.results[sign] for sign in (0, 1)]
        lengths = [length for result in results for length in result.values["lengths"]]
        if pair.generation != self.counters.generation or current.blocks:
            current.stale += len(lengths)
            return
        current.returns[pair.number] = [compute_fitness(result) for result in results]
        current.lengths += lengths
        for result in results:
            if "observed" in result.arrays:
                sums = self.context.store.get(result.arrays["observed"])
                self.state.statistics.add(result.values["observed"], sums)

    def _update(self) -> None:
        """One step of the optimiser; the policy of the next generation has the statistics of now."""
        state, settings, current = self.state, self.settings, self.state.current
        slope = gradient(self, current.sums)
        step = self._optimiser.step(state.moments, settings.l2 * state.mean - slope)
        state.last = self._described(current, slope, step)
        state.mean = state.mean + step
        end = self.context.store.get(state.policy)[self._size :]  # the reference batch, or statistics
        if self.policy_spec.normalisation:
            end = state.statistics.moments
        state.policy = self.share(np.concatenate((state.mean, end)).astype(np.float32))
        state.limit = self._limit.next(state.limit, current.lengths)
        state.current = Gathered()
        self.counters.generation += 1

    def _described(self, current: Gathered, slope: np.ndarray, step: np.ndarray) -> dict[str, float]:
        returns = np.array(list(current.returns.values()))
        numbers = returns[~np.isnan(returns)]
        return {
            "fitness_best": float(numbers.max()) if numbers.size else math.nan,
            "fitness_mean": float(numbers.mean()) if numbers.size else math.nan,
            "mean_return": float(np.mean(current.mean_returns)) if current.mean_returns else math.nan,
            "pairs": len(returns),
            "steps": sum(current.lengths),
            "stale_episodes": current.stale,
            "time_limit": self.state.limit,
            "parameter_norm": float(np.linalg.norm(self.state.mean)),
            "gradient_norm": float(np.linalg.norm(slope)),
            "step_norm": float(np.linalg.norm(step)),
        }

    def metrics(self) -> dict[str, float]:
        return self.state.last
