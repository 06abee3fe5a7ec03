"""How often the report's 95 % intervals hold the true value, on four shapes of scores.

python -m tests.audit.coverage > docs/data/interval-coverage.csv      # a table of docs/how-we-decide.md
"""

import csv
import sys

import numpy as np
from scipy import stats

from erlbench.reporting import statistics
from tests.audit.verdict_rates import SHAPES

SEEDS, STUDIES, FEW = (3, 6, 10, 20), 1000, 100


def within(interval, value):
    return interval[0] - 1e-12 <= value <= interval[1] + 1e-12


def measure(draw):
    """The share of studies by interval and seeds, for scores of a shape."""
    rng = np.random.default_rng(7)
    many = np.sort(draw(rng, 1, 100_000)[0])
    mean, iqm, near = many.mean(), statistics.iqm(many), 0.9 * many.mean()

    def superior(a, b):
        probability = statistics.probability_of_improvement([a], [b])
        return within(statistics.superiority_interval(probability, (len(a), len(b))), 0.5)

    def bootstrapped(a, _):
        return within(statistics.bootstrap_interval(lambda drawn: statistics.iqm(drawn[0]), [a], resamples=FEW), iqm)

    intervals = {
        "Student's, of a mean": (STUDIES, lambda a, _: within(statistics.mean_interval(a), mean)),
        "Welch's, of a difference": (
            STUDIES,
            lambda a, b: within(stats.ttest_ind(a, b, equal_var=False).confidence_interval(), 0.0),
        ),
        "Newcombe's, of P(better)": (2 * FEW, superior),
        "Wilson's, of a share near the best": (
            STUDIES,
            lambda a, _: within(statistics.share_interval(int((a >= near).sum()), len(a)), (many >= near).mean()),
        ),
        "Bootstrap, of an IQM": (FEW, bootstrapped),
    }
    shares = {name: [] for name in intervals}
    for n in SEEDS:
        for name, (studies, holds) in intervals.items():
            x, y = draw(rng, studies, n), draw(rng, studies, n)
            shares[name].append(f"{np.mean([holds(a, b) for a, b in zip(x, y)]):.2f}")
    return shares


def table():
    """The rows of docs/data/interval-coverage.csv: an interval and a shape, and the share for each n."""
    shares = {shape: measure(draw) for shape, draw in SHAPES.items()}
    rows = [[name, shape, *shares[shape][name]] for name in sorted(shares["normal"]) for shape in SHAPES]
    return [["interval", "scores", *(f"{n} seeds" for n in SEEDS)], *rows]


if __name__ == "__main__":
    csv.writer(sys.stdout, lineterminator="\n").writerows(table())
