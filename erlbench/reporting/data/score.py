"""The one number by which a run is judged: its score, of several kinds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from erlbench.reporting.data.runs import Evaluations

FINAL = "final"
LAST = 10  # evaluations of `final_10`


@dataclass(frozen=True)
class Metric:
    """A kind of score."""

    words: str  # what a caption calls it
    title: str  # what a heading calls it
    of: Callable[[Evaluations], float]


def final(evaluations: Evaluations) -> float:
    """The mean return of the last evaluation's episodes: the headline metric."""
    return float(evaluations.return_mean[-1])


def final_10(evaluations: Evaluations) -> float:
    """The mean return of the last ten evaluations; NaN when there are fewer."""
    return float(evaluations.return_mean[-LAST:].mean()) if len(evaluations) >= LAST else float("nan")


def area(evaluations: Evaluations) -> float:
    """The area under the curve over training steps (trapezoids) divided by the steps it spans: a mean return."""
    x, y = evaluations.timesteps, evaluations.return_mean
    if len(x) < 2:
        return float("nan")
    return float((np.diff(x) * (y[1:] + y[:-1]) / 2).sum() / (x[-1] - x[0]))


METRICS = {
    FINAL: Metric("Return of the final evaluation", "final return", final),
    "final-10": Metric("Mean return of the last ten evaluations", "return of the last ten evaluations", final_10),
    "area": Metric("Mean return over training (area under the curve divided by its steps)", "area", area),
}
