"""The coupling `half`: some individuals are trained by gradients before they are evaluated.

In generations the first `n_grad` (CEM-RL, Pourchot and Sigaud, ICLR 2019, algorithm 1); without generations each with a
probability that keeps their share (AES-RL, Lee et al., NeurIPS 2020, eq. 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from erlbench.algorithms.coupling.coupling import Coupling
from erlbench.algorithms.search.search import Search
from erlbench.errors import UsageError
from erlbench.settings import at_least_zero, fraction
from erlbench.work.seeding import Purpose, generator

CEM_RL, AES_CODE = "CEM-RL, public code", "AES-RL, public code"


@dataclass(frozen=True, kw_only=True)
class ShareSettings:
    """Hyper-parameters of the coupling `half` without generations."""

    p_desired: float = fraction(
        0.5, "share of individuals that are trained by gradients", AES_CODE, by_env={"Swimmer": 0.1}
    )
    k_rl: float = at_least_zero(50.0, "gain of the population control", AES_CODE, symbol="K_rl")


@dataclass(frozen=True, kw_only=True)
class HalfSettings(ShareSettings):
    """Hyper-parameters of the coupling `half`."""

    n_grad: int = at_least_zero(5, "individuals of a generation that are trained by gradients", CEM_RL)


class Half(Coupling):
    """`half`: part of the population is trained, and the critic learns from everybody's transitions."""

    settings_type: ClassVar[type] = HalfSettings

    @classmethod
    def check(cls, settings: HalfSettings, search: type[Search[Any, Any]], search_settings: Any) -> None:
        population = search.count_population(search_settings)
        if settings.n_grad > population:
            raise UsageError(f"n_grad ({settings.n_grad}) cannot exceed population ({population})")
        if population < 2:
            raise UsageError("coupling=half trains part of a population, and one individual has no part")
        if search.pairs and settings.n_grad == 1:
            raise UsageError(
                f"{search.__name__} samples mirrored pairs, and n_grad=1 trains no whole one; use 2 or more"
            )

    @classmethod
    def trains(cls, settings: HalfSettings) -> int:
        return settings.n_grad

    @property
    def count(self) -> int:
        """Whole pairs where the search mirrors: half a trained pair would count as noise."""
        count: int = self.settings.n_grad
        return count - count % 2 if self.run.search.pairs else count

    def chooses(self, number: int, n_rl: int, n_es: int) -> bool:
        if not self.run.learns:
            return False
        p = probability_of_rl(n_rl, n_es, self.settings.p_desired, self.settings.k_rl)
        return bool(generator(*self.run.key(Purpose.POPULATION, number)).random() < p)


def probability_of_rl(n_rl: int, n_es: int, desired: float, gain: float) -> float:
    """AES-RL, eq. 3: clip(-K_rl (n_rl / (n_rl + n_es) - p_desired) + 0.5, 0, 1), for the numbers launched so far."""
    return min(1.0, max(0.0, -gain * (n_rl / (n_rl + n_es) - desired) + 0.5))
