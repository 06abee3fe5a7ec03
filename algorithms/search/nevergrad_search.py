"""One of nevergrad's optimisers as a function of its start, a seed and the losses it was told (`Replayed`).

nevergrad (github.com/facebookresearch/nevergrad) minimises. All that enters an optimiser is given here: the
parametrisation, whose random state is seeded, and the losses in the order in which their candidates were asked for.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from erlbench.errors import UsageError, nearest

WORST = 1e20  # loss for a return that is NaN or infinite; nevergrad takes up to 5e20


def optimizers() -> dict[str, Any]:
    """All of nevergrad's registry by name, and its CMA of 2020."""
    import nevergrad  # here, because it imports pandas, scikit-learn and much else

    from erlbench.algorithms.search.nevergrad_2020 import CMA2020

    return {**nevergrad.optimizers.registry, CMA2020.__name__: CMA2020}


def check_optimizer(name: str) -> None:
    """Raise `UsageError` with the nearest name where there is no optimiser `name`."""
    names = sorted(optimizers())
    if name not in names:
        hint = nearest(name, names) or "; for instance CMA, ES, DE, OnePlusOne, PSO, TBPSA"
        raise UsageError(f"nevergrad has no optimizer '{name}'{hint}")


def parallel(name: str) -> bool:
    """Whether the optimiser `name` can have several candidates under way."""
    return not optimizers()[name].no_parallelization


def losses(fitness: Sequence[float]) -> np.ndarray:
    """What nevergrad is to minimise, `(candidates,)`."""
    return np.array([-value if math.isfinite(value) else WORST for value in fitness])


class NevergradSearch:
    """One run of one of the `optimizers` around `centre`, in units of `sigma`."""

    values = staticmethod(losses)

    def __init__(
        self,
        name: str,
        centre: np.ndarray,
        sigma: float,
        budget: int | None,
        workers: int,
        random: np.random.Generator,
        reports_mean: bool = True,
    ) -> None:
        """`budget`: the number of evaluations that the optimiser plans for; `workers`: candidates under way."""
        import nevergrad

        self._centre, self._sigma, self._reports_mean = np.array(centre, np.float64), sigma, reports_mean
        self._told = False
        parametrization = nevergrad.p.Array(init=self._centre).set_mutation(sigma=sigma)
        parametrization.random_state = np.random.RandomState(random.bit_generator)
        self._asked: list[Any] = []
        self._name, self._warning = name, nevergrad.errors.NevergradWarning
        with self._explained():
            self._optimizer: Any = optimizers()[name](parametrization, budget, workers)

    def ask(self, count: int) -> list[np.ndarray]:
        """`count` candidates, `(P,)` float64 each."""
        with self._explained():
            self._asked = [self._optimizer.ask() for _ in range(count)]
        return [np.array(candidate.value, np.float64) for candidate in self._asked]

    def tell(self, losses: Sequence[float] | np.ndarray) -> None:
        """Take in the losses of the candidates asked for last, in their order."""
        with self._explained():
            for candidate, loss in zip(self._asked, losses, strict=True):
                self._optimizer.tell(candidate, float(loss))
        self._told, self._asked = True, []

    @property
    def reported(self) -> np.ndarray:
        """What the optimiser recommends, `(P,)` float64: for its CMA-ES the best candidate ever told.

        Where the mean is wanted, the search distribution's, if there is one (CMA-ES by pycma).
        """
        if not self._told:
            return self._centre
        if self._reports_mean and self._strategy is not None:
            return self._centre + self._sigma * np.asarray(self._strategy.mean)
        return np.array(self._optimizer.recommend().value, np.float64)

    @property
    def step_size(self) -> float | None:
        """The standard deviation of the search, in the parameters' units, where there is one (CMA-ES by pycma)."""
        return None if self._strategy is None else self._sigma * float(self._strategy.sigma)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Inside, nevergrad's advice on settings is not shown, and what it raises names the optimiser."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", self._warning)
                yield
        except Exception as error:
            reason, remedy = str(error), "some need a budget (--set budget=10000), some a further package"
            if "Mean shift samples" in reason:  # eleven lines of advice for programs
                reason = "pycma's step-size rule TPA needs all candidates of a population told before the next ask"
                remedy = "leave batch and population at none, or use --set optimizer=CMA2020"
            raise UsageError(
                f"nevergrad's optimizer {self._name} cannot be used here: {type(error).__name__}: {reason}; {remedy}"
            ) from error

    @property
    def _strategy(self) -> Any:
        """Pycma's object inside nevergrad's CMA; None before its first ask, and for all others."""
        chosen = getattr(self._optimizer, "_optim", None)  # of those that choose among others, as CMA and NGOpt do
        strategy = getattr(self._optimizer if chosen is None else chosen, "_es", None)
        return strategy if hasattr(strategy, "mean") and hasattr(strategy, "sigma") else None
