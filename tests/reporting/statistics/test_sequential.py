from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from erlbench.reporting.statistics.sequential import design, obrien_fleming, pocock


# Lan-DeMets boundaries for five equal looks at a two-sided level of 0.05, as widely tabulated (Reboussin et al. 2000).
@pytest.mark.parametrize(
    ("spending", "tabulated"),
    [
        ("obrien-fleming", [4.8769, 3.3569, 2.6803, 2.2898, 2.0310]),
        ("pocock", [2.4380, 2.4268, 2.4101, 2.3966, 2.3859]),
    ],
)
def test_boundaries_as_tabulated(spending, tabulated):
    assert design((2, 4, 6, 8, 10), 0.05, spending).z == pytest.approx(tabulated, abs=6e-4)


def test_one_look_is_an_ordinary_test():
    found = design((7,), 0.05)
    assert found.p == pytest.approx((0.05,))
    assert sum(found.stopping(3.0)) == pytest.approx(stats.norm.sf(1.959964 - 3) + stats.norm.cdf(-1.959964 - 3))


def test_the_level_is_spent_over_all_looks():
    for spend in (obrien_fleming, pocock):
        assert spend(1.0, 0.05) == pytest.approx(0.05)
    found = design((3, 6, 10), 0.05)
    assert sum(found.stopping(0.0)) == pytest.approx(0.05)
    assert found.stopping(0.0)[0] == pytest.approx(obrien_fleming(0.3, 0.05))


def test_stopping_as_simulated():
    looks, found = np.array([4, 8, 12]), design((4, 8, 12), 0.05, "pocock")
    drift = 2.5
    rng = np.random.default_rng(0)
    path = rng.normal(drift / 12, 1 / np.sqrt(12), size=(40_000, 12)).cumsum(axis=1)[:, looks - 1]
    beyond = np.abs(path / np.sqrt(looks / 12)) > found.z
    first = np.where(beyond.any(axis=1), beyond.argmax(axis=1), 3)
    assert found.stopping(drift) == pytest.approx([(first == k).mean() for k in range(3)], abs=0.008)


@pytest.mark.parametrize("spending", ["obrien-fleming", "pocock"])
def test_welch_at_the_looks_keeps_the_level_with_few_seeds(spending):
    looks = (5, 10, 15)
    found, rng = design(looks, 0.05, spending), np.random.default_rng(1)
    x, y = rng.normal(0, 1, (15, 8000)), rng.normal(0, 2, (15, 8000))
    p = np.array([stats.ttest_ind(x[:n], y[:n], equal_var=False).pvalue for n in looks])
    assert (p <= np.array(found.p)[:, None]).any(axis=0).mean() == pytest.approx(0.05, abs=0.009)
