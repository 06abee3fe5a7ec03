"""What a search is: it samples individuals, and learns from those that are told, some of them changed by training.

A search is one line of `SEARCHES`, or a user's MODULE:CLASS. It runs alone (`hybrid.search_alone`), and in a hybrid
with a learner (`hybrid.Hybrid`). Its state is a dataclass of plain values and arrays: a checkpoint is that dataclass.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from erlbench.algorithms.individuals import compute_fitness
from erlbench.algorithms.policy_settings import make_policy_spec
from erlbench.algorithms.registry import ALGORITHMS, complete, find_named
from erlbench.algorithms.search.observation_statistics import ObservationStatistics
from erlbench.algorithms.search.search_distribution import SearchDistribution
from erlbench.envs.registry import Problem
from erlbench.errors import UsageError
from erlbench.policy import PolicySpec
from erlbench.work.seeding import Key
from erlbench.work.store import Store
from erlbench.work.tasks import ArrayRef, Perturbed, Result, Task

SEARCHES: Mapping[str, str] = MappingProxyType(
    {
        "cem": "erlbench.algorithms.search.cem:CEMSearch",
        "aes": "erlbench.algorithms.search.aes:AESSearch",
        "erl-ga": "erlbench.algorithms.search.genetic:GeneticSearch",
        **{name: ALGORITHMS[name].where for name in ("snes", "ga", "ars", "pgpe")},
        "openai-es": "erlbench.algorithms.search.openai_es:OpenAIESSearch",
        "none": "erlbench.algorithms.search.none:NoSearch",
    }
)
AS_SAMPLES, MEAN_ONLY, HANSEN = "as-samples", "mean-only", "hansen"
INJECTIONS = (AS_SAMPLES, MEAN_ONLY, HANSEN)

Vector = Perturbed | ArrayRef


@dataclass(kw_only=True)
class Individual:
    """An evaluated individual, as a search is told it."""

    z: Vector  # as it was evaluated
    fitness: float
    injected: bool = False  # no sample of the search: trained by gradients, or put in from outside
    origin: Vector | None = None  # the sample before its training; None where there was none
    age: int = 0  # updates of the search since it was sampled
    f_mean: float = float("nan")  # f(mu) of the moment, where the search asks for it

    @classmethod
    def of(cls, z: Vector, sample: Vector, outside: bool, **more: Any) -> Individual:
        """One that was `sample` before it was perhaps trained, or that was put in from `outside` in its place."""
        return cls(z=z, injected=outside or z != sample, origin=None if outside else sample, **more)


@dataclass(kw_only=True)
class SearchState:
    """The base of the states of searches."""

    elites: list[int] = field(default_factory=list)  # places of those that counted in the last `tell`, best first


@dataclass(frozen=True)
class SearchContext:
    """What a run gives its search."""

    policy: PolicySpec
    mean: np.ndarray  # (policy.size,) float32: where it starts
    store: Store
    share: Callable[[np.ndarray], ArrayRef]
    injected: str | None = None  # what the user chose
    another: Callable[[int], np.ndarray] | None = None  # further initial policies by number, `(policy.size,)` float32


S = TypeVar("S")
D = TypeVar("D", bound=SearchState)


class Search(ABC, Generic[S, D]):
    """Samples and learns; returns are maximised."""

    settings_type: ClassVar[type]
    injection: ClassVar[str] = MEAN_ONLY
    """What injected individuals do where the user chose nothing: see `injected`."""
    pairs: ClassVar[bool] = False
    """Whether its estimate needs mirrored pairs: individuals 2 i and 2 i + 1 of a generation have opposite noise."""
    noise_sum: np.ndarray
    spared: int | None = None
    """After `tell` the place of the next generation that a learner's copy must not take, if there is one."""

    def __init__(self, settings: S, context: SearchContext) -> None:
        self.settings, self.context = settings, context
        self.injected = context.injected or self.injection
        """as-samples: they count like samples. mean-only: they move the mean, and variances follow the samples alone.
        hansen: as samples, but shortened to a sample's length, and log sigma changes by 1 at most."""
        self.state: D = self.start(context.mean[: context.policy.learnt_size].astype(np.float64))

    @abstractmethod
    def start(self, mean: np.ndarray) -> D:
        """The state before the first individual; the mean is `(P,)` float64."""

    @abstractmethod
    def sample(self, key: Key) -> Vector:
        """The individual that `key` names."""

    @abstractmethod
    def tell(self, individuals: Sequence[Individual]) -> None:
        """Learn from `at_once` evaluated individuals, or from a whole generation."""

    @property
    @abstractmethod
    def mean_ref(self) -> ArrayRef:
        """The policy to report, usually the mean."""

    @classmethod
    def count_population(cls, settings: S) -> int:
        """Individuals of a generation."""
        if not hasattr(settings, "population"):
            raise UsageError(f"{cls.__name__} has neither a setting `population` nor `count_population`")
        return int(settings.population)

    @property
    def at_once(self) -> int:
        """How many individuals an asynchronous schedule gathers before it tells them."""
        return self.count_population(self.settings)

    @property
    def mean_episodes(self) -> int:
        """Episodes that measure f(mu), which the search compares individuals with; 0: it does not need f(mu)."""
        return 0

    def samples(self, key: Callable[[int], Key]) -> list[Vector]:
        """The samples of a generation, from `key(0)`, `key(1)`, ..."""
        return [self.sample(key(index)) for index in range(self.count_population(self.settings))]

    def generation(
        self, key: Callable[[int], Key], first: Sequence[ArrayRef] = (), last: Sequence[ArrayRef] = ()
    ) -> list[Vector]:
        """The individuals of a generation, of which the `first` and the `last` ones are around vectors from outside."""
        individuals = self.samples(key)
        for place, centre in [*enumerate(first), *enumerate(last, len(individuals) - len(last))]:
            individuals[place] = self.around(centre, key(place))
        return individuals

    def around(self, centre: ArrayRef, key: Key) -> Vector:
        """A sample with another centre; a search without noise gives the centre."""
        return centre

    def noise_weights(self, individuals: Sequence[Individual]) -> dict[Key, float] | None:
        """Weights of noise vectors, whose sum workers make: `noise_sum` in `tell`; None: it needs none."""
        return None

    def breed(self, run: Any) -> list[Task]:
        """Tasks that make individuals of the next generation, whose outputs `samples` has; of the kind actor."""
        return []

    def recorded(self, individual: int, start: int, stop: int) -> None:
        """Note that an individual, or the learner behind them, has made these transitions of the replay."""

    def tune(self, fitness: np.ndarray) -> None:
        """Adapt the noise after a learner has learnt; by default `tell` does all."""

    def fitness(self, result: Result) -> float:
        """What an individual's episodes are worth: by default their mean return."""
        return compute_fitness(result)

    def seen(self, fitness: float, warm: bool) -> None:
        """Note a fitness as soon as it is known, also of individuals that are never told."""

    def observed(self, count: int, sums: np.ndarray) -> None:
        """Note `count` observations with `sums` `(2, observation)`: their sum, and the sum of their squares."""

    def metrics(self) -> dict[str, float]:
        """Columns of train.csv."""
        return {}

    def measured(self) -> dict[str, float]:
        """Values of settings that it found out by itself (`Algorithm.measured`)."""
        return {}

    @classmethod
    def policy_for(cls, settings: S, problem: Problem) -> PolicySpec:
        """The policies that it searches when it runs alone."""
        return make_policy_spec(problem, settings)

    def extends(self, steps: int, individuals: int) -> bool:
        """Whether a generation with so many environment steps and individuals gets as many individuals more."""
        return False

    def share_policy(self, vector: np.ndarray) -> ArrayRef:
        """A vector as a policy, float32 in the store."""
        return self.context.share(vector.astype(np.float32))

    def shared(self, individuals: Iterable[Individual]) -> list[ArrayRef]:
        """The individuals as arrays of the store."""
        return [
            z if isinstance(z := individual.z, ArrayRef) else self.share_policy(self.load(z))
            for individual in individuals
        ]

    def load(self, z: Vector) -> np.ndarray:
        """The learnt part of an individual, `(P,)` float64."""
        return np.asarray(self.context.store.load(z))[: self.context.policy.learnt_size].astype(np.float64)


@dataclass(kw_only=True)
class GaussianState(SearchState):
    """The state of a search with a mean and a variance of each parameter."""

    distribution: SearchDistribution


G = TypeVar("G", bound=GaussianState)


class GaussianSearch(Search[S, G]):
    """A search with a diagonal Gaussian, whose settings have `initial_variance`."""

    def distribution(self, mean: np.ndarray) -> SearchDistribution:
        """The initial search distribution."""
        return SearchDistribution.create(mean, self.settings.initial_variance, self.context.share)  # type: ignore[attr-defined]

    @property
    def mean_ref(self) -> ArrayRef:
        return self.state.distribution.mean_ref

    def sample(self, key: Key) -> Vector:
        return self.state.distribution.sample(key)

    def around(self, centre: ArrayRef, key: Key) -> Vector:
        return Perturbed(centre, self.state.distribution.std_ref, key)

    def move(self, mean: np.ndarray, variance: np.ndarray) -> None:
        """Go to the next mean and variance, `(P,)`; where `injected` is hansen, log sigma changes by at most 1."""
        old = self.state.distribution
        if self.injected == HANSEN:
            variance = np.clip(variance, old.variance * np.exp(-2.0), old.variance * np.exp(2.0))
        self.state.distribution = old.moved(mean, variance, self.context.share)

    def positions(self, individuals: Iterable[Individual]) -> Iterator[np.ndarray]:
        """Where they count, `(P,)` float64 each: z, or where `injected` is hansen the mean + `displacement`."""
        mean, std = self.state.distribution.mean, np.sqrt(self.state.distribution.variance)
        for individual in individuals:
            yield (
                mean + displacement(self, individual, mean, std) if self.injected == HANSEN else self.load(individual.z)
            )

    def metrics(self) -> dict[str, float]:
        return {"variance_mean": float(self.state.distribution.variance.mean())}


@dataclass(kw_only=True)
class MirroredState(SearchState):
    """The state of a search by mirrored pairs."""

    mean: np.ndarray  # (P,) float64
    policy: ArrayRef  # the mean as a policy, with the statistics of observations at the generation's start
    statistics: ObservationStatistics


M = TypeVar("M", bound=MirroredState)


class MirroredSearch(Search[S, M]):
    """A search by mirrored pairs around one mean; its settings may have a `reward_shift`."""

    pairs: ClassVar[bool] = True

    @property
    @abstractmethod
    def scale(self) -> ArrayRef | float:
        """The standard deviation of samples."""

    @classmethod
    def policy_for(cls, settings: S, problem: Problem) -> PolicySpec:
        normalised = getattr(settings, "normalise_observations", False) and problem.observation_size > 0
        return make_policy_spec(problem, settings, normalised)

    def begin(self, mean: np.ndarray) -> dict[str, Any]:
        """The fields of `MirroredState` before the first generation."""
        statistics = ObservationStatistics.create(self.context.policy.sizes[0], 0.0)
        return {"mean": mean, "policy": self.publish(mean, statistics), "statistics": statistics}

    def publish(self, mean: np.ndarray, statistics: ObservationStatistics) -> ArrayRef:
        """The mean as a policy, with the moments of observations at its end where it normalises them."""
        normalises = self.context.policy.normalisation
        return self.share_policy(np.concatenate((mean, self.moments(statistics))) if normalises else mean)

    def moments(self, statistics: ObservationStatistics) -> np.ndarray:
        """Mean and standard deviation of the observations, `(2 * observation,)`."""
        return statistics.moments

    @property
    def mean_ref(self) -> ArrayRef:
        return self.state.policy

    def sample(self, key: Key, sign: int = 1) -> Vector:
        return Perturbed(self.state.policy, self.scale, key, sign, size=self.state.mean.size)

    def around(self, centre: ArrayRef, key: Key) -> Vector:
        return Perturbed(centre, self.scale, key, size=self.state.mean.size)

    def samples(self, key: Callable[[int], Key]) -> list[Vector]:
        pairs = range(self.count_population(self.settings) // 2)
        return [self.sample(key(pair), sign) for pair in pairs for sign in (1, -1)]

    def fitness(self, result: Result) -> float:
        shift = getattr(self.settings, "reward_shift", 0.0)
        return compute_fitness(result) - shift * float(np.mean(result.values["lengths"]))

    def observed(self, count: int, sums: np.ndarray) -> None:
        self.state.statistics.add(count, sums)

    def metrics(self) -> dict[str, float]:
        return {"parameter_norm": float(np.linalg.norm(self.state.mean))}


def find_centre(z: Vector) -> ArrayRef:
    """What an individual was sampled around: itself, where it was not."""
    return z.centre if isinstance(z, Perturbed) else z


def own_displacement(search: Search[Any, Any], sample: Individual, mean: np.ndarray) -> np.ndarray:
    """Z - centre, `(P,)` float64, of the centre around which a sample was drawn, from which the mean may have moved.

    Of what was not drawn around a centre it is z - mean.
    """
    centre = search.load(sample.z.centre) if isinstance(sample.z, Perturbed) else mean
    return search.load(sample.z) - centre


def displacement(search: Search[Any, Any], individual: Individual, mean: np.ndarray, std: np.ndarray) -> np.ndarray:
    """Z - mean, `(P,)` float64; of an injected individual shortened where `injected` is hansen."""
    move = search.load(individual.z) - mean
    return shortened(move, std) if individual.injected and search.injected == HANSEN else move


def with_worst(fitness: Sequence[float]) -> np.ndarray:
    """The fitness, float64; what is not finite is as the worst that is."""
    values = np.array(fitness, np.float64)
    finite = np.isfinite(values)
    values[~finite] = values[finite].min() if finite.any() else 0.0
    return values


def shortened(displacement: np.ndarray, std: np.ndarray) -> np.ndarray:
    """`displacement / std` with at most the length of a long sample, sqrt(d) + 2 d / (d + 2); times `std`.

    Hansen, "Injecting external solutions into CMA-ES" (arXiv:1110.4181), eq. 3.
    """
    d = displacement.size
    length = float(np.linalg.norm(displacement / std))
    return displacement * min(1.0, (np.sqrt(d) + 2.0 * d / (d + 2.0)) / length) if length else displacement


def find_search(name: str) -> type[Search[Any, Any]]:
    """The search of this name, or of MODULE:CLASS; raises `UsageError`."""
    return complete("search", name, find_named("search", name, SEARCHES, Search))
