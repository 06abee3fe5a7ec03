from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from erlbench.errors import UsageError
from erlbench.reporting.statistics.sequential import design
from erlbench.reporting.statistics.simulated_studies import check_looks, least_difference, normal_studies, simulate

STUDIES = 4000


def by_scipy(looks, found, x, y):
    """The share of studies that stop at each look, by scipy's test; x and y: (seeds, studies)."""
    p = np.array([stats.ttest_ind(x[:n], y[:n], equal_var=False).pvalue for n in looks])
    crossed = p <= np.array(found.p)[:, None]
    first = np.where(crossed.any(axis=0), crossed.argmax(axis=0), len(looks))
    return [(first == k).mean() for k in range(len(looks))]


@pytest.mark.parametrize(
    ("looks", "difference", "spreads", "promised", "real"),
    [
        ((3, 5), 2.0, (1.0, 1.0), 0.88, 0.76),
        ((3, 6, 9), 1.42, (1.0, 1.0), 0.84, 0.79),
        ((6, 12), 3.0, (1.0, 4.0), 0.71, 0.64),
    ],
)
def test_power_is_that_of_welch_as_simulated_by_scipy_and_below_that_of_normal_statistics(
    looks, difference, spreads, promised, real
):
    found, rng = design(looks, 0.05), np.random.default_rng(7)
    x = rng.normal(difference, spreads[0], (looks[-1], STUDIES))
    y = rng.normal(0, spreads[1], (looks[-1], STUDIES))
    stops = normal_studies(*spreads, looks).stopping(found, difference)
    assert stops == pytest.approx(by_scipy(looks, found, x, y), abs=0.025)
    drift = difference / np.hypot(*spreads) * np.sqrt(looks[-1])
    assert (sum(found.stopping(drift)), sum(stops)) == pytest.approx((promised, real), abs=0.015)


def test_a_power_takes_less_than_two_seconds_and_is_the_same_each_time():
    began = time.process_time()
    powers = [normal_studies(1.0, 2.0, (5, 10, 15)).stopping(design((5, 10, 15), 0.05), 1.0) for _ in range(2)]
    assert powers[0] == powers[1]
    assert time.process_time() - began < 4


def test_what_is_detectable_is_found_with_its_power():
    found = design((4, 8), 0.05)
    least = least_difference(normal_studies(1.0, 1.0, (4, 8)), found, 0.8)
    assert sum(normal_studies(1.0, 1.0, (4, 8), seed=1).stopping(found, least)) == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize(
    ("looks", "spending", "tests"),
    [((6, 12), "obrien-fleming", 6), ((5, 10, 15), "obrien-fleming", 1), ((5, 10, 15), "pocock", 1),
     ((12,), "obrien-fleming", 6), ((2, 4), "obrien-fleming", 1)],
)  # fmt: skip
def test_looks_that_keep_their_level_are_taken(looks, spending, tests):
    check_looks(looks, 0.05, spending, tests)


@pytest.mark.parametrize(
    ("looks", "spending", "tests"),
    [((2, 4, 6, 8, 10), "pocock", 1), ((2, 12), "pocock", 1), ((3, 6, 9), "pocock", 1), ((5, 10, 15), "pocock", 6)],
)
def test_looks_whose_level_is_above_the_promise_are_refused(looks, spending, tests):
    with pytest.raises(UsageError, match="have level"):
        check_looks(looks, 0.05, spending, tests)


def test_looks_from_two_on_have_the_level_of_the_audit_by_scipy():
    looks, rng = (2, 4, 6, 8, 10), np.random.default_rng(3)
    found = design(looks, 0.05, "pocock")

    def runs():
        return np.where(rng.random((10, STUDIES)) < 0.3, 50, 350) + rng.normal(0, 10, (10, STUDIES))

    level = sum(by_scipy(looks, found, runs(), runs()))
    assert level > 0.08
    with pytest.raises(UsageError, match=f"level 0.0{round(100 * level)}"):
        check_looks(looks, 0.05, "pocock")


@pytest.mark.parametrize(("looks", "percent"), [((5, 10), 9.6), ((6, 12), 6.0), ((10, 20), 4.6)])
def test_the_page_of_plans_has_how_often_two_groups_beside_steady_runs_are_decided(looks, percent):
    rng, studies = np.random.default_rng(0), 20_000
    size = studies, looks[-1]
    x, y = rng.choice([80.0, 120.0], size) + rng.normal(size=size), 100 + rng.normal(size=size)
    wrong = 100 * sum(simulate(x, y, looks).stopping(design(looks, 0.05)))
    assert wrong == pytest.approx(percent, abs=0.7)
    page = " ".join((Path(__file__).parents[3] / "docs" / "planning.md").read_text(encoding="utf-8").split())
    assert f"{percent} %" in page.partition("two groups far from the steady runs")[2].partition("## The plan")[0]
