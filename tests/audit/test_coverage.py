"""How often the report's 95 % intervals hold the true value, in simulated studies."""

import numpy as np
import pytest

from erlbench.reporting import statistics
from erlbench.reporting.significance import compare

STUDIES = 200
ENVIRONMENTS = 4


@pytest.mark.slow
@pytest.mark.parametrize("runs", [6, 10])
def test_intervals_cover(runs):
    """Scores are skewed, as returns are: a tenth of the runs fails. Three standard errors of 200 studies are 4.6 %."""
    rng = np.random.default_rng(runs)

    def draw(level, count):
        return level * np.where(rng.random(count) < 0.1, 0.5, 1.0) * (1 + 0.2 * rng.normal(size=count))

    levels = rng.uniform(0.5, 1.5, ENVIRONMENTS)
    many = [draw(level, 200_000) for level in levels]
    iqm, centre = statistics.iqm_over_environments(many), many[0].mean()
    covered = {"fixed scale": [], "mean": [], "difference": []}
    for seed in range(STUDIES):
        scores = [draw(level, runs) for level in levels]
        low, high = statistics.bootstrap_interval(statistics.iqm_over_environments, scores, resamples=200, seed=seed)
        covered["fixed scale"].append(low <= iqm <= high)
        low, high = statistics.mean_interval(scores[0])
        covered["mean"].append(low <= centre <= high)
        found = compare(scores[0], draw(levels[0], runs))
        covered["difference"].append(found["difference_low"] <= 0 <= found["difference_high"])
    shares = {name: np.mean(values) for name, values in covered.items()}
    assert min(shares.values()) >= 0.88, shares
