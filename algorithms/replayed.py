"""Searches by other people's objects, which no checkpoint can hold: they are asked and told everything again.

Such an object is made from a seed alone. All that it is told is kept, in the order in which it was told. After a resume
a new one is made, asked and told the same. A digest of all that it was asked for shows whether it came out the same.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from erlbench.algorithms.base import Algorithm, Context
from erlbench.algorithms.individuals import FitnessSettings, Generation, start_states
from erlbench.errors import CellError
from erlbench.work.tasks import ArrayRef, Result, Task

Own = TypeVar("Own", bound="Searcher")
Chosen = TypeVar("Chosen", bound=FitnessSettings)


class Searcher(Protocol):
    """What is asked for candidates, and told how good they are, all of them at once."""

    def ask(self, count: int) -> Sequence[np.ndarray]:
        """Candidates, `(P,)` each: `count` of them, or as many as it wants."""

    def values(self, fitness: Sequence[float]) -> np.ndarray:
        """What it is told of candidates with this fitness, float64 `(candidates,)`."""

    def tell(self, values: np.ndarray) -> None:
        """Take in the values of the candidates asked for last."""

    @property
    def reported(self) -> np.ndarray:
        """The policy to report when a generation has ended, float64 `(P,)`."""


@dataclass(kw_only=True)
class ToldState(Generation):
    """Everything needed to go on, with what was told in place of the object.

    `fitness`: of the candidates under way, by their place.
    """

    reported: np.ndarray  # (P,) float64
    reported_ref: ArrayRef
    losses: np.ndarray  # (capacity,) float64, all that was told, in its order
    told: int = 0  # how many of them there are
    candidates: list[ArrayRef] = field(default_factory=list)  # under way
    generation: list[float] = field(default_factory=list)  # fitness of those told in this generation
    asked: str = ""  # digest of all candidates


class Replayed(Algorithm[Chosen, ToldState], Generic[Chosen, Own]):
    """A search by one object, which a subclass makes."""

    draws: ClassVar[str] = "a package"
    """What may be another than before where the object does not come out the same."""

    def __init__(self, settings: Chosen, context: Context) -> None:
        super().__init__(settings, context)
        self._search: Own = self._new_search()
        first = self._search.reported
        self.state = ToldState(reported=first, reported_ref=self.share(first.astype(np.float32)), losses=np.zeros(256))

    @abstractmethod
    def _new_search(self) -> Own:
        """The object as it is when a run begins."""

    def _size(self, evaluations: int) -> int:
        """How many candidates are asked for after so many `evaluations`; 0 where the object decides."""
        return 0

    def _ends(self, evaluations: int) -> bool:
        """Whether a generation ends after so many `evaluations`."""
        return True

    @classmethod
    def depends_on_budget(cls, settings: Chosen) -> str:
        return ""

    def policy(self) -> ArrayRef:
        return self.state.reported_ref

    def _ask(self) -> list[Task]:
        """The next candidates when none are under way; a generation that has begun is completed."""
        state, settings = self.state, self.settings
        if state.candidates or (self.exhausted and not state.generation):
            return []
        candidates = self._search.ask(self._size(state.told))
        state.asked = _digest(state.asked, candidates)
        state.candidates = [self.share(candidate.astype(np.float32)) for candidate in candidates]
        seeds = start_states(self, self.counters.generation)
        return self.rollouts(state.candidates, kind="es", episodes=settings.episodes, seeds=seeds)

    def _tell(self, task: Task, result: Result) -> None:
        """Take one candidate's fitness; the last one is the time to tell them all."""
        state = self.state
        state.take(task.individual, result)
        if len(state.fitness) < len(state.candidates):
            return
        fitness = state.in_order
        values = self._search.values(fitness)
        after = state.told + len(values)
        if after > len(state.losses):
            state.losses = np.concatenate((state.losses, np.zeros(after)))
        state.losses[state.told : after] = values
        state.told, state.candidates, state.fitness = after, [], {}
        state.generation += fitness
        self._search.tell(values)
        if self._ends(after):
            self._next_generation()

    def _next_generation(self) -> None:
        state = self.state
        state.reported = self._search.reported
        state.reported_ref = self.share(state.reported.astype(np.float32))
        state.end(state.generation)
        state.generation = []
        self.counters.generation += 1

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Go on from a snapshot: a new object is asked and told everything again, a `CellError` where it differs."""
        super().restore(snapshot)
        state = self.state
        state.losses = state.losses.copy()  # what comes from a file may be read-only
        self._search = self._new_search()
        evaluations, digest, reported = 0, "", self._search.reported
        while evaluations < state.told:
            candidates = self._search.ask(self._size(evaluations))
            digest = _digest(digest, candidates)
            self._search.tell(state.losses[evaluations : evaluations + len(candidates)])
            evaluations += len(candidates)
            if self._ends(evaluations):
                reported = self._search.reported
        if state.candidates:
            digest = _digest(digest, self._search.ask(len(state.candidates)))
        if evaluations != state.told or digest != state.asked or not np.array_equal(reported, state.reported):
            raise CellError(
                f"the state of {type(self).__name__} cannot be computed again from the checkpoint: it draws random "
                f"numbers that its seed does not decide, or {self.draws}, numpy or the processor is another than "
                "before; go on where the run began, or start anew by --force"
            )


def _digest(before: str, candidates: Sequence[np.ndarray]) -> str:
    """The digest of the candidates that were asked for until now."""
    digest = hashlib.blake2b(before.encode(), digest_size=16)
    for candidate in candidates:
        digest.update(np.asarray(candidate, np.float64).tobytes())
    return digest.hexdigest()
