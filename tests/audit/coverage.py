"""How often the report's 95 % intervals hold the true value, on four shapes of scores.

python -m tests.audit.coverage > docs/data/interval-coverage.csv      # a table of docs/how-we-decide.md
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable

import numpy as np
from scipy import stats

from erlbench.reporting import statistics
from tests.audit.verdict_rates import SHAPES

SEEDS, STUDIES, FEW = (3, 6, 10, 20), 1000, 100
COVERED: dict[tuple[str, str, int], float] = {}
Interval = tuple[float, float]


def welch(x: np.ndarray, y: np.ndarray) -> Interval:
    low, high = stats.ttest_ind(x, y, equal_var=False).confidence_interval()
    return low, high


def measure(shape: str, draw: Callable[..., np.ndarray]) -> None:
    """Fill `COVERED` for a shape: by interval, shape and seeds."""
    rng = np.random.default_rng(7)
    many = np.sort(draw(rng, 1, 100_000)[0])
    mean, iqm, near = many.mean(), statistics.iqm(many), 0.9 * many.mean()
    share = (many >= near).mean()

    def rate(name: str, seeds: int, studies: int, holds: Callable[[np.ndarray, np.ndarray], bool]) -> None:
        x, y = draw(rng, studies, seeds), draw(rng, studies, seeds)
        COVERED[name, shape, seeds] = float(np.mean([holds(a, b) for a, b in zip(x, y, strict=True)]))

    def within(found: Interval, value: float) -> bool:
        return found[0] - 1e-12 <= value <= found[1] + 1e-12

    def superior(a: np.ndarray, b: np.ndarray) -> bool:
        probability = statistics.probability_of_improvement([a], [b])
        return within(statistics.superiority_interval(probability, len(a), len(b)), 0.5)

    def tolerant(a: np.ndarray, _: np.ndarray) -> bool:
        low, high = statistics.tolerance_interval(a)
        return (np.searchsorted(many, high) - np.searchsorted(many, low)) / len(many) >= 0.9

    for n in SEEDS:
        rate("Student's, of a mean", n, STUDIES, lambda a, _: within(statistics.mean_interval(a), mean))
        rate("Welch's, of a difference", n, STUDIES, lambda a, b: within(welch(a, b), 0.0))
        rate("Newcombe's, of P(better)", n, 2 * FEW, superior)
        rate("Howe's, of nine runs in ten", n, STUDIES, tolerant)
        rate("Wilson's, of a share near the best", n, STUDIES,
             lambda a, _: within(statistics.share_interval(int((a >= near).sum()), len(a)), share))  # fmt: skip
        rate("Bootstrap, of an IQM", n, FEW, lambda a, _: within(
            statistics.bootstrap_interval(lambda one: statistics.iqm(one[0]), [a], resamples=100), iqm))  # fmt: skip


def table() -> list[list[str]]:
    """The rows of docs/data/interval-coverage.csv: an interval and a shape, and the share for each n."""
    for shape, draw in SHAPES.items():
        measure(shape, draw)
    keys = dict.fromkeys((name, shape) for name, shape, _ in COVERED)
    names = sorted({name for name, _ in keys})
    header = ["interval", "scores", *(f"{n} seeds" for n in SEEDS)]
    return [header, *([name, shape, *(f"{COVERED[name, shape, n]:.2f}" for n in SEEDS)]
                      for name in names for shape in SHAPES)]  # fmt: skip


if __name__ == "__main__":
    csv.writer(sys.stdout, lineterminator="\n").writerows(table())
