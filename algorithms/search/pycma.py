"""pycma's CMA-ES as a function of its start, keyed noise and the rankings it was told (`Replayed`).

pycma (github.com/CMA-ES/pycma) minimises. All that enters its object is given here: the initial mean and sigma,
standard normal numbers whose stream is named by the generation, and the ranking of each generation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from erlbench.algorithms.base import Needs
from erlbench.envs.registry import Problem
from erlbench.errors import UsageError
from erlbench.machine.process import available_memory

FULL = "full"
COVARIANCES = ("auto", FULL, "diagonal", "vd", "vkd")
FULL_LIMIT = 2000  # parameters up to which "auto" learns the full covariance matrix
FULL_MATRICES = 8  # N x N float64: the peak while pycma decomposes the covariance matrix is 7.4
FULL_SECONDS = 1.2e-9  # one update of a full covariance matrix, per entry and individual
FULL_FEWEST = 2.7  # individuals that the decompositions of a tiny population cost
RESTRICTED_MINIMUM = 10  # parameters from which on VD- and VkD-CMA are meant to be used


def choose_covariance(name: str, size: int) -> str:
    """The covariance model for `size` parameters; a `UsageError` when it would not work.

    `auto` is full up to `FULL_LIMIT` parameters and diagonal beyond.
    """
    if name == "auto":
        name = FULL if size <= FULL_LIMIT else "diagonal"
    if name == FULL:
        check_memory(size, "--set covariance=diagonal (or vd, vkd)")
    if name in ("vd", "vkd") and size < RESTRICTED_MINIMUM:
        raise UsageError(
            f"covariance={name} is for {RESTRICTED_MINIMUM} parameters or more, the policy has {size}; "
            "use --set covariance=full"
        )
    return name


def check_memory(size: int, instead: str) -> None:
    """A `UsageError` where a full covariance matrix of `size` parameters does not fit; `instead` is what to use."""
    needed, available = full_memory(size), available_memory()
    if needed > available:
        raise UsageError(
            f"a full covariance matrix of {size} parameters needs {needed / 2**30:.1f} GiB of memory, "
            f"{available / 2**30:.1f} GiB are available; use {instead}, or a smaller network (--set hidden=64-64)"
        )


def full_memory(size: int) -> float:
    """Bytes that a full covariance matrix of `size` parameters needs, with pycma's factors and temporaries."""
    return 8.0 * FULL_MATRICES * size**2


def full_seconds(size: int, population: int) -> float:
    """Seconds of one core that a generation spends on a full covariance matrix of `size` parameters.

    With its share of the decompositions; right within a quarter for 500 to 2,000 parameters and 20 or 100 individuals.
    """
    return FULL_SECONDS * (FULL_FEWEST + population) * size**2


def default_population(size: int) -> int:
    """CMA-ES's population size for `size` parameters: 4 + floor(3 ln N)."""
    return 4 + int(3 * math.log(size))


def estimate_needs(problem: Problem, population: int | None, episodes: int, size: int, full: bool) -> Needs:
    """What a generation takes that searches `size` parameters, with a full covariance matrix or a smaller one."""
    population = population or default_population(size)
    more = {"memory": full_memory(size), "seconds": full_seconds(size, population)} if full else {}
    return Needs.of_episodes(problem, population * episodes, **more)


def losses(fitness: Sequence[float]) -> np.ndarray:
    """What pycma is to minimise, `(population,)`: for each individual the number of better ones.

    The one place where the sign changes. CMA-ES depends on the ranking only. Ties are equal; NaN and infinite
    fitness is the worst.
    """
    values = np.array(fitness, np.float64)
    values[~np.isfinite(values)] = -math.inf
    return (values[None, :] > values[:, None]).sum(axis=1).astype(np.float64)


class Strategy:
    """One run of pycma. `noise` gives the generator of a stream: 0 of the start, g + 1 of generation g."""

    values = staticmethod(losses)

    def __init__(
        self,
        mean: np.ndarray,
        sigma: float,
        population: int,
        covariance: str,
        noise: Callable[[int], np.random.Generator],
    ) -> None:
        import cma  # here, because it imports all of matplotlib

        self._noise = noise
        self._random = noise(0)
        self._samples: list[np.ndarray] = []
        self._generation = 0
        self._es: Any = cma.CMAEvolutionStrategy(
            np.array(mean, np.float64), sigma, self._options(population, covariance)
        )
        self._es.archive = cma.evolution_strategy.get_CMASolutionDict(False)()  # of thousands of samples, never read
        self._es.adapt_sigma.check_consistency = lambda es: None  # an assertion that draws from numpy's generator

    def ask(self, count: int = 0) -> list[np.ndarray]:
        """The individuals of the next generation, `(P,)` float64 each."""
        self._generation += 1
        self._random = self._noise(self._generation)
        self._samples = self._es.ask()
        return self._samples

    def tell(self, values: np.ndarray) -> None:
        """Take in the `losses` of the individuals asked for last."""
        self._es.tell(self._samples, values.tolist())
        self._samples = []

    @property
    def reported(self) -> np.ndarray:
        """The distribution's mean, `(P,)` float64, a copy."""
        return np.array(self._es.gp.pheno(self._es.mean), np.float64)

    @property
    def sigma(self) -> float:
        """The step size."""
        return float(self._es.sigma)

    @property
    def stds(self) -> np.ndarray:
        """The standard deviation of each parameter, `(P,)`."""
        return np.asarray(self._es.stds)

    def _options(self, population: int, covariance: str) -> dict[str, Any]:
        from cma.restricted_gaussian_sampler import GaussVDSampler, GaussVkDSampler

        options: dict[str, Any] = {
            "popsize": population,
            "CMA_diagonal": covariance == "diagonal",
            "randn": self._normal,
            "seed": math.nan,  # leave numpy's global generator alone
            "verbose": -9,
            "verb_disp": 0,
            "verb_log": 0,
            "signals_filename": "",  # no file of the current folder is read
        }
        if covariance in ("vd", "vkd"):
            sampler = GaussVDSampler if covariance == "vd" else GaussVkDSampler
            sampler.extend_cma_options(options)
            options["CMA_sampler_options"] = {"randn": self._normal}
        return options

    def _normal(self, *shape: int) -> np.ndarray:
        """Standard normal numbers of the present stream, as `numpy.random.randn` gives them."""
        return self._random.standard_normal(shape)
