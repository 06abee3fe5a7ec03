"""Other people's search objects behind one face: `ask(count)` gives candidates, `tell(values)` takes their values.

| object | how it is known | what happens |
|---|---|---|
| a user's, pycma | `ask()`, `tell(f)` or `tell(X, f)` | as they are |
| nevergrad | `ask()` gives one candidate with a `value` | `num_workers` of them, told one by one |
| evosax 0.2 and later | `init`, `default_params`, `ask(key, state, params)` | keys and state are kept here |
"""

from __future__ import annotations

import inspect
import random
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from erlbench.errors import CellError, UsageError

SPREAD = 0.1  # standard deviation, or half the width, of a first population around the mean
MINIMISE = ("cma", "nevergrad", "evosax")  # packages that minimise, whatever is declared
_GLOBALS = threading.RLock()  # one search at a time uses the global generators


def wrap_search(thing: Any, mean: np.ndarray, seed: int) -> SearchFace:
    """An object of another package as a `SearchFace`; a `UsageError` for one that cannot be asked and told."""
    strategy, params = thing if isinstance(thing, tuple) and len(thing) == 2 else (thing, None)
    if all(hasattr(strategy, name) for name in ("init", "default_params", "ask", "tell")):
        return EvosaxObject(strategy, strategy.default_params if params is None else params, mean, seed)
    if hasattr(thing, "ask") and hasattr(thing, "tell"):
        return NevergradObject(thing) if hasattr(thing, "num_workers") else AskTellObject(thing)
    raise UsageError(f"a {type(thing).__name__} has not both ask() and tell()")


class AskTellObject:
    """`ask() -> X` with `tell(f)` or `tell(X, f)`."""

    def __init__(self, thing: Any) -> None:
        self._thing = thing
        self._both = len(_required(thing.tell)) > 1
        self._asked: Any = ()

    def ask(self) -> Sequence[np.ndarray]:
        self._asked = self._thing.ask()
        try:
            return [np.array(candidate, np.float64) for candidate in self._asked]
        except (TypeError, ValueError) as error:
            raise CellError(f"ask() gave no vectors of numbers: {error}") from error

    def tell(self, values: np.ndarray) -> None:
        self._thing.tell(*((self._asked, values) if self._both else (values,)))

    def mean(self) -> np.ndarray | None:
        """The mean of the search distribution, or what the object recommends; None where it has neither."""
        if hasattr(self._thing, "gp"):  # pycma's mean is in other coordinates where it has bounds or scales
            return np.array(self._thing.result.xfavorite, np.float64)
        mean = getattr(self._thing, "mean", None)
        return mean() if callable(mean) else mean


class NevergradObject:
    """nevergrad's optimisers: one candidate after the other."""

    def __init__(self, optimizer: Any) -> None:
        self._optimizer = optimizer
        self._asked: list[Any] = []

    def ask(self) -> Sequence[np.ndarray]:
        self._asked = [self._optimizer.ask() for _ in range(self._optimizer.num_workers)]
        return [np.array(candidate.value, np.float64) for candidate in self._asked]

    def tell(self, values: np.ndarray) -> None:
        for candidate, value in zip(self._asked, values.tolist(), strict=True):
            self._optimizer.tell(candidate, value)

    def mean(self) -> np.ndarray | None:
        return np.array(self._optimizer.provide_recommendation().value, np.float64)


class EvosaxObject:
    """evosax's pure functions; one that begins with a population has it evaluated first."""

    def __init__(self, strategy: Any, params: Any, mean: np.ndarray, seed: int) -> None:
        import jax

        self._strategy, self._params, self._jax = strategy, params, jax
        self._key, self._state, self._asked = jax.random.key(seed), None, jax.numpy.asarray(mean, "float32")
        if "fitness" not in inspect.signature(strategy.init).parameters:
            self._state = strategy.init(self._next_key(), self._asked, params)

    def ask(self) -> Sequence[np.ndarray]:
        if self._state is None:
            shape = self._strategy.population_size, self._asked.size
            self._asked = self._asked + SPREAD * self._jax.random.normal(self._next_key(), shape)
        else:
            self._asked, self._state = self._strategy.ask(self._next_key(), self._state, self._params)
        return [*np.array(self._asked, np.float64)]

    def tell(self, values: np.ndarray) -> None:
        fitness = self._jax.numpy.asarray(values, "float32")
        if self._state is None:
            self._state = self._strategy.init(self._next_key(), self._asked, fitness, self._params)
            return
        key, candidates = self._next_key(), self._asked
        self._state, _ = self._strategy.tell(key, candidates, fitness, self._state, self._params)

    def mean(self) -> np.ndarray | None:
        mean = getattr(self._state, "mean", None)
        return None if mean is None else np.array(mean, np.float64)

    def _next_key(self) -> Any:
        self._key, key = self._jax.random.split(self._key)
        return key


SearchFace = AskTellObject | NevergradObject | EvosaxObject


class GlobalGenerators:
    """The global generators of random, numpy and torch as one search sees them: separate ones, seeded.

    pycma, among others, draws from numpy's; so do other searches of this process.
    """

    def __init__(self, seed: int) -> None:
        self._own: dict[str, Any] = {"random": random.Random(seed).getstate()}
        self._own["numpy"] = np.random.RandomState(seed).get_state()

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Inside, they are this search's."""
        with _GLOBALS:
            outside = {name: get() for name, (get, _) in _generators().items()}
            _set(self._own)
            try:
                yield
            finally:
                self._own = {name: get() for name, (get, _) in _generators().items()}
                _set(outside)


def _generators() -> dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]]:
    generators: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
        "random": (random.getstate, random.setstate),
        "numpy": (np.random.get_state, np.random.set_state),
    }
    torch = sys.modules.get("torch")
    return generators | {"torch": (torch.get_rng_state, torch.set_rng_state)} if torch else generators


def _set(states: dict[str, Any]) -> None:
    generators = _generators()
    for name, state in states.items():
        generators[name][1](state)


def check_candidates(candidates: Sequence[np.ndarray], size: int, name: str) -> Sequence[np.ndarray]:
    """The candidates, if there are some, each with `size` finite numbers; else a `CellError`."""
    shapes = sorted({candidate.shape for candidate in candidates})
    if shapes != [(size,)]:
        raise CellError(f"{name}: ask() gave candidates of the shapes {shapes}; each must have {size} numbers")
    if not all(np.isfinite(candidate).all() for candidate in candidates):
        raise CellError(f"{name}: ask() gave numbers that are not finite")
    return candidates


def _required(function: Any) -> list[inspect.Parameter]:
    """The parameters that a call must give."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    return [parameter for parameter in parameters if parameter.default is parameter.empty and parameter.kind in kinds]
