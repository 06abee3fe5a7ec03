from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from erlbench.reporting import statistics
from erlbench.reporting.statistics import bootstrap_interval, expanded_tail, superiority_interval


def test_superiority_interval_of_samples_apart_has_a_width():
    low, high = superiority_interval(0.0, 5, 5)
    assert low == pytest.approx(0.0, abs=1e-9)
    assert 0.3 < high < 0.5
    assert superiority_interval(1.0, 5, 5) == pytest.approx((1 - high, 1.0), abs=1e-9)
    assert np.isnan([superiority_interval(0.5, 1, 5), superiority_interval(0.5, 5, 1)]).all()


@pytest.mark.parametrize(("n", "m", "probability"), [(6, 6, 0.5), (6, 20, 0.8), (10, 7, 0.1)])
def test_superiority_interval_solves_newcombes_equation(n, m, probability):
    """Hanley and McNeil's variance at the ends, with the mean size N in place of both."""
    for end in superiority_interval(probability, n, m):
        more = 1 + ((n + m) / 2 - 1) * ((1 - end) / (2 - end) + end / (1 + end))
        error = math.sqrt(end * (1 - end) * more / (n * m))
        assert abs(end - probability) == pytest.approx(stats.norm.ppf(0.975) * error)


def test_stratified_bootstrap_equals_scipys_with_expanded_tails():
    assert expanded_tail([5]) == pytest.approx(0.00095, abs=1e-5)  # sqrt(5 / 4) x 2.776 = 3.104 standard deviations
    assert expanded_tail([10_000]) == pytest.approx(0.025, abs=1e-4)
    rng = np.random.default_rng(4)
    strata = [rng.normal(i, 1, size=10) for i in range(3)]
    ours = bootstrap_interval(lambda s: statistics.iqm(np.concatenate(s)), strata, resamples=4000)
    theirs = stats.bootstrap(
        strata, lambda *s: statistics.iqm(np.concatenate(s)), n_resamples=4000, method="percentile", vectorized=False,
        rng=np.random.default_rng(5), confidence_level=1 - 2 * expanded_tail([10] * 3),
    ).confidence_interval  # fmt: skip
    assert_allclose(ours, theirs, atol=0.05)
    # Constant strata: any mixing between them would widen the interval.
    assert bootstrap_interval(lambda s: np.concatenate(s).mean(), [[0.0] * 4, [10.0] * 4], resamples=50) == (5.0, 5.0)
    assert np.isnan(bootstrap_interval(lambda s: 0.0, [[1.0, 2.0], [1.0]])).all()


def test_bootstrap_band_equals_the_interval_at_every_point():
    values = np.random.default_rng(3).normal(size=(8, 3))
    low, high = statistics.bootstrap_mean_band(values, resamples=4000)
    for i in range(3):
        column = bootstrap_interval(lambda s: statistics.mean(s[0]), [values[:, i]], resamples=4000)
        assert (low[i], high[i]) == pytest.approx(column, abs=0.05)


def test_a_mean_curve_has_an_interval_from_two_seeds_on():
    curves = [(seed, (np.arange(3.0), np.arange(3.0) + seed)) for seed in (0, 2)]
    line = statistics.mean_curve(curves, interval=True)
    assert_allclose((line["interval_low"], line["y"], line["interval_high"]), np.add.outer([0, 1, 2], np.arange(3)))
    assert "interval_low" not in statistics.mean_curve(curves[:1], interval=True)
    assert "interval_low" not in statistics.mean_curve(curves)


@pytest.mark.parametrize(("n", "share", "confidence", "k"), [(43, 0.9, 0.99, 2.217), (10, 0.9, 0.95, 2.856)])
def test_tolerance_factor_as_tabulated(n, share, confidence, k):
    """The first is the example of the NIST/SEMATECH e-Handbook, section 7.2.6.3; the second tabulated, exact."""
    x = np.linspace(-1, 1, n)
    low, high = statistics.tolerance_interval(x, share=share, confidence=confidence)
    assert high / x.std(ddof=1) == pytest.approx(k, rel=0.01)
    assert low == pytest.approx(-high)
