"""nevergrad's CMA of 2020, which GoodAI compared (nevergrad 3682bb3, pycma a47716c), made of today's.

Both differ where candidates of the next population are asked for before all of this one are told. pycma takes one
population per ask and refuses the next. Then today's nevergrad forgets the refused candidates; nevergrad of 2020 kept
them and told them together with the ones that followed.
"""

from __future__ import annotations

from typing import Any

import nevergrad
from cma.sigma_adaptation import CMAAdaptSigmaCSA
from nevergrad.optimization.optimizerlib import _CMA


class CMA2020(_CMA):  # type: ignore[misc]
    """CMA with a full covariance, CSA at any size, no restarts, and no candidate forgotten."""

    no_parallelization = False
    _to_be_told: list[Any]

    def __init__(self, parametrization: Any, budget: int | None = None, num_workers: int = 1) -> None:
        config = nevergrad.families.ParametrizedCMA(inopts={"AdaptSigma": CMAAdaptSigmaCSA})  # else TPA from 300 on
        super().__init__(parametrization, budget, num_workers, config)

    @property
    def es(self) -> Any:
        """The first object of pycma, whatever its termination criteria."""
        return super().es if self._es is None else self._es

    def _internal_tell_candidate(self, candidate: Any, loss: float) -> None:
        waiting, generation = [*self._to_be_told, candidate], self.es.countiter
        super()._internal_tell_candidate(candidate, loss)
        if not self._to_be_told and self.es.countiter == generation:  # refused
            self._to_be_told = waiting
