"""Any object with ask and tell as an algorithm: a class or a function that makes it, with a declared direction.

    @erlbench.minimise
    def my_cma(mean, seed, sigma=0.1):
        return cma.CMAEvolutionStrategy(mean, sigma, {"seed": seed, "verbose": -9})

Its parameters are what it needs: `mean`, where the search starts (float64, `(P,)`); `dimension`, that is P; `seed`,
from 1 on. All other parameters have defaults, and are settings. `docs/ask-tell.md` shows more.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, TypeVar

import numpy as np

from erlbench.algorithms.individuals import FitnessSettings
from erlbench.algorithms.policy_settings import PolicySettings, initial_mean
from erlbench.algorithms.replayed import Replayed
from erlbench.algorithms.search.ask_tell import MINIMISE, GlobalGenerators, SearchFace, check_candidates, wrap_search
from erlbench.algorithms.search.search import with_worst
from erlbench.errors import UsageError
from erlbench.settings import setting
from erlbench.work.seeding import Purpose, generator

MAXIMISES, MINIMISES = "maximise", "minimise"
GIVEN = ("mean", "dimension", "seed")
KINDS = (bool, int, float, str)
Maker = TypeVar("Maker", bound=Callable[..., Any])


def maximise(make: Maker) -> Maker:
    """Declare that what a class is, or a function makes, maximises what it is told."""
    return _declared(make, MAXIMISES)


def minimise(make: Maker) -> Maker:
    """Declare that what a class is, or a function makes, minimises what it is told."""
    return _declared(make, MINIMISES)


def _declared(make: Maker, direction: str) -> Maker:
    make.direction = direction  # type: ignore[attr-defined]
    return make


@dataclass(frozen=True, kw_only=True)
class AskTellSettings(PolicySettings, FitnessSettings):
    """Hyper-parameters of every search by an object, which has further ones."""


class OneSearch:
    """An object of a run, with separate generators, returns turned into its direction, and its best candidate."""

    values = staticmethod(with_worst)

    def __init__(self, make: Callable[..., Any], mean: np.ndarray, seed: int, settings: AskTellSettings) -> None:
        self._name, self._sign = make.__name__, 1.0 if make.direction == MAXIMISES else -1.0  # type: ignore[attr-defined]
        self._mean, self._generators = mean, GlobalGenerators(seed)
        self._asked: Sequence[np.ndarray] = ()
        self._best, self._record = mean, -math.inf
        wanted = inspect.signature(make).parameters
        with self._generators():
            given: dict[str, Any] = {"mean": mean.copy(), "dimension": len(mean), "seed": seed}
            values = {name: getattr(settings, name) for name in wanted if name not in GIVEN}
            thing = make(**{name: given[name] for name in wanted if name in given}, **values)
            package = type(thing[0] if isinstance(thing, tuple) else thing).__module__.partition(".")[0]
            if package in MINIMISE and self._sign > 0:
                raise UsageError(f"{self._name}: {package} minimises; declare it by @erlbench.minimise")
            self._search: SearchFace = wrap_search(thing, mean, seed)

    def ask(self, count: int) -> Sequence[np.ndarray]:
        """As many candidates as the object wants."""
        with self._generators():
            self._asked = check_candidates(self._search.ask(), len(self._mean), self._name)
        return self._asked

    def tell(self, values: np.ndarray) -> None:
        """Take in fitness, of which more is better."""
        best = int(values.argmax())
        if values[best] > self._record:
            self._best, self._record = self._asked[best], float(values[best])
        with self._generators():
            self._search.tell(self._sign * values)

    @property
    def reported(self) -> np.ndarray:
        """The object's mean, or the best candidate that it was told where it has none; at first where it starts."""
        if not len(self._asked):
            return self._mean
        with self._generators():
            mean = self._search.mean()
        return np.array(self._best if mean is None else mean, np.float64)


class AskTell(Replayed[AskTellSettings, OneSearch]):
    """A search by an object that `make` makes."""

    settings_type: ClassVar[type] = AskTellSettings
    make: ClassVar[Callable[..., Any]]

    def _new_search(self) -> OneSearch:
        mean = np.array(initial_mean(self.policy_spec, self.settings, self.key(Purpose.PARAMETERS)), np.float64)
        seed = 1 + int(generator(*self.key(Purpose.NOISE)).integers(2**31 - 2))
        return OneSearch(type(self).make, mean, seed, self.settings)

    def metrics(self) -> dict[str, float]:
        return {**self.state.extremes(), "evaluations": self.state.told, "steps": self.state.previous_steps}


@cache
def make_algorithm(make: Callable[..., Any]) -> type[AskTell]:
    """The algorithm of a class or function; a `UsageError` for one without a direction, or with unknown parameters."""
    name, direction = make.__name__, getattr(make, "direction", None)
    if direction not in (MAXIMISES, MINIMISES):
        raise UsageError(
            f"{name} does not declare whether it maximises or minimises: put @erlbench.maximise or @erlbench.minimise "
            "before it"
        )
    fields = []
    for parameter in inspect.signature(make).parameters.values():
        if parameter.name in GIVEN:
            continue
        if type(parameter.default) not in KINDS:
            raise UsageError(
                f"{name} has a parameter '{parameter.name}': it must be one of {', '.join(GIVEN)}, or have a number, "
                "a truth value or a text as its default"
            )
        if parameter.name in AskTellSettings.__dataclass_fields__:
            raise UsageError(f"{name} has a parameter '{parameter.name}', a setting of every search; rename it")
        made = setting(parameter.default, f"parameter of {name}", f"default of {name}")
        fields.append((parameter.name, type(parameter.default), made))
    settings = dataclasses.make_dataclass(
        f"{name}Settings", fields, bases=(AskTellSettings,), frozen=True, kw_only=True
    )
    doc = inspect.cleandoc(make.__doc__ or f"{name}: {direction}s, by ask and tell.")
    return type(name, (AskTell,), {"__doc__": doc, "settings_type": settings, "make": staticmethod(make)})
