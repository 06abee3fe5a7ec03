"""The rule at its boundaries: numbers of seeds, sizes of differences, families, and scores that are no numbers."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats

from erlbench.reporting.significance import Case, compare, judge
from erlbench.reporting.words import details, order, pair_values, result, sentence
from tests.reporting.compare import page_of, pairs_of
from tests.reporting.make_runs import make_run


def verdicts(folder, **scores):
    """The verdicts of algorithms with these scores, one a seed."""
    for name, values in scores.items():
        for seed, score in enumerate(values):
            make_run(folder, "Mine-v0", name, seed, [0, 0, score])
    return pairs_of(page_of(folder))


def case_of(x, y):
    found = compare(x, y)
    return judge(x, y, found, p=found["p_rank"])["case"]


def ranks_p(x, y):
    return max(stats.mannwhitneyu(x, y, method="exact").pvalue, stats.brunnermunzel(x, y).pvalue)


def between(n, m, low, high):
    """Two samples whose p of the ranks lies between two levels, and whose means are far apart."""
    rng = np.random.default_rng(0)
    while True:
        x, y = rng.normal(200, 60, n), rng.normal(100, 60, m)
        if not (x.min() > y.max() or y.min() > x.max()) and low < ranks_p(x, y) < high and x.mean() > 1.3 * y.mean():
            return x, y


@pytest.mark.parametrize(
    ("n", "m", "case"), [(5, 5, Case.TOO_FEW), (5, 20, Case.TOO_FEW), (6, 6, Case.DECIDED), (6, 20, Case.DECIDED)]
)
def test_a_test_takes_six_seeds_per_side(tmp_path, n, m, case):
    (found,) = verdicts(tmp_path, a=[140.0 + seed for seed in range(n)], b=[10.0 + seed for seed in range(m)])
    assert found.case == case
    if case == Case.TOO_FEW:
        assert all(map(math.isnan, (found.p_holm, found.difference_low, found.difference_high)))


@pytest.mark.parametrize(("n", "m"), [(8, 8), (9, 9), (9, 20), (20, 9)])
def test_below_ten_seeds_the_level_is_0_015(n, m):
    for low, high, case in ((0.0155, 0.025, Case.UNDECIDED), (0.005, 0.0145, Case.DECIDED)):
        x, y = between(n, m, low, high)
        assert case_of(x, y) == case


@pytest.mark.parametrize(("n", "m"), [(10, 10), (10, 20), (20, 20)])
def test_from_ten_seeds_on_the_level_is_0_025(n, m):
    for low, high, case in ((0.0255, 0.045, Case.UNDECIDED), (0.016, 0.0245, Case.DECIDED)):
        x, y = between(n, m, low, high)
        assert case_of(x, y) == case


def test_a_difference_of_means_alone_decides_nothing():
    """Welch's p of 0.002 decided where half of the level was its own."""
    x = np.array([84.5, 87.3, 108.3, 128.2, 132.9, 136.8, 140.9, 141.5, 149.1, 156.8])
    y = np.array([47.95, 90.95, 91.55, 91.95, 92.85, 95.45, 97.25, 97.85, 98.05, 113.15])
    assert stats.ttest_ind(x, y, equal_var=False).pvalue < 0.0025 < 0.025 < ranks_p(x, y)
    assert case_of(x, y) == Case.UNDECIDED


def test_a_difference_that_is_smaller_than_the_margin_is_not_decided(tmp_path):
    """Both have solved the task: one is 2.4e-5 above the other."""
    a, b = ([-4.1 - offset - 1e-7 * seed for seed in range(10)] for offset in (0.0, 2.4e-5))
    (found,) = verdicts(tmp_path, a=a, b=b)
    assert found.case == Case.SMALL
    assert found.difference < found.margin == pytest.approx(0.41, abs=0.01)
    assert sentence(found).startswith("Higher by less than 10 %: runs of a score higher than runs of b on Mine-v0")
    assert result([found]) == "Runs of a score higher by less than 10 % than runs of b on Mine-v0."
    assert json.dumps(pair_values(found)["case"]) == '"small difference"'


def test_a_winner_with_the_lower_mean_is_named_with_its_lower_mean(tmp_path):
    a, b = [12.0 + 0.01 * seed for seed in range(9)] + [-90.0], [10.0 + 0.01 * seed for seed in range(10)]
    (found,) = verdicts(tmp_path, a=a, b=b)
    lower = np.mean(b) - np.mean(a)
    assert (found.case, order(found)[0].name) == (Case.SMALL, "a")
    assert found.gain == pytest.approx(-lower)
    assert sentence(found).startswith("Higher, with a lower mean: runs of a score higher than runs of b")
    assert f"the mean of a is {lower:.2f} lower in these runs" in sentence(found)


def test_the_probability_is_that_of_the_side_that_is_named_first(tmp_path):
    (found,) = verdicts(tmp_path, a=[1.0 + 0.1 * seed for seed in range(8)], b=[5.0 + 0.1 * seed for seed in range(8)])
    assert "runs of b score higher than runs of a" in sentence(found)
    high = 1 - found.probability_low
    assert f"(P = 1.00 [{1 - found.probability_high:.2f}, {high:.2f}])" in sentence(found)
    assert found.probability_high < 0.5 < high
    assert "the means of these runs differ by 4.00" in sentence(found)


@pytest.mark.parametrize("size", [1e300, 1e160])
def test_scores_without_a_spread_that_is_a_number_are_never_decided(tmp_path, size):
    a, b = ([factor * size * (1 + 0.01 * seed) for seed in range(10)] for factor in (2, 1))
    with np.errstate(all="ignore"):
        (found,) = verdicts(tmp_path, a=a, b=b)
        ruling = judge(np.array(a), np.array(b), compare(a, b), p=0.0)
    assert math.isnan(ruling["detectable_difference"])
    assert found.case == Case.NOT_COMPARABLE
    assert ruling["case"] != Case.DECIDED


def test_nan_and_infinity_decide_nothing():
    y = np.arange(10.0)
    for bad in (math.nan, math.inf):
        x = np.array([*range(20, 29), bad])
        with np.errstate(all="ignore"):
            assert case_of(x, y) != Case.DECIDED


def test_a_page_says_that_none_of_its_comparisons_can_be_decided(tmp_path):
    """Five algorithms of six seeds are ten comparisons: complete separation of six seeds has p of 0.0022 alone."""
    apart = {name: [100.0 * level + seed for seed in range(6)] for level, name in enumerate("abcde", 1)}
    found = verdicts(tmp_path, **apart)
    assert {one.case for one in found} == {Case.UNDECIDED}
    assert not any(one.decidable for one in found)
    assert (
        result(found) == "No comparison can be decided: 10 comparisons are undecided; 10 tests need 7 seeds per side."
    )
    assert "the smallest p that they can have is 0.022, level 0.015" in " ".join(details(found[0]))
    assert "Differences from" not in " ".join(details(found[0]))


@pytest.mark.parametrize(("names", "seeds"), [("abcd", 6), ("abcde", 7)])
def test_so_many_seeds_decide_what_the_page_says_that_they_need(tmp_path, names, seeds):
    apart = {name: [100.0 * level + seed for seed in range(seeds)] for level, name in enumerate(names, 1)}
    assert {one.case for one in verdicts(tmp_path, **apart)} == {Case.DECIDED}


@pytest.mark.parametrize(
    ("gap", "tests", "case"),
    [(4.5, 1, Case.EQUIVALENT), (4.5, 3, Case.UNDECIDED), (8.0, 1, Case.UNDECIDED), (-8.0, 1, Case.UNDECIDED)],
)
def test_equivalence_takes_both_edges_of_the_margin_at_the_level_of_the_family(gap, tests, case):
    """Twenty seeds of spread 8 about 100: the standard error of their difference is 2.5."""
    y = 100 + 8 * stats.norm.ppf((np.arange(20) + 0.5) / 20)
    assert judge(y + gap, y, compare(y + gap, y), p=1.0, tests=tests)["case"] == case
