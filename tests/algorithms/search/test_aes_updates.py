"""The rules of the mean and of the variance, by hand."""

import csv
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from erlbench.algorithms.search.aes_updates import (
    RATIOS,
    freeze,
    move,
    oldest,
    online_adaptive,
    online_fixed,
    slide,
    success_rule,
    update_ratio,
)

RATIO_CASES = """
rule                      scale              f(z) f(mu)  p+  p-          p
full-move                     0                11    10   1   0          1
full-move                     0                10    10   1   0          0
fixed-range-linear         2000               500     0 0.5   0      0.125
fixed-range-linear         2000              9000     0   1   0          1
fixed-range-linear         2000                 0     0   1   0          0
fixed-range-linear         2000              -500     0   1   0          0
fixed-range-linear         2000              -500     0   1 0.4       -0.1
fixed-range-linear         2000             -9000     0   1 0.4       -0.4
fixed-range-sigmoid        2000                 0     0   1   1        0.5
fixed-range-sigmoid        2000              2000     0   1   1  0.7310586
fixed-range-sigmoid        2000             -4000     0   1   1  0.1192029
fixed-range-sigmoid        2000                 0     0   1   0          0
fixed-range-sigmoid        2000             1e-09     0   1   0        0.5
fixed-range-sigmoid        2000             -2000     0   1  -1 -0.2689414
fixed-range-sigmoid        2000        1000000000     0   1   1          1
fixed-range-sigmoid        2000       -1000000000     0   1   1          0
baseline-absolute         -2000             12000 11000   1   1      14/27
baseline-absolute         -2000             -2001   100   1   1          0
baseline-absolute         -2000             -2000   100   1   1          0
baseline-absolute         -2000               100 -2000   1   1          1
baseline-absolute         -2000             -1900 -9000   1   1          1
baseline-absolute         -2000             -2000 -2000   1   1          1
baseline-absolute-clipped -2000             12000 11000   1   1      14/27
baseline-absolute-clipped -2000             -1900 -9000   1   1          0
baseline-absolute-clipped -2000             -1900 -2050   1   1          1
baseline-absolute-clipped -2000             -1950 -2050   1   1          0
baseline-absolute-clipped -2000             -2001     0   1   1          0
baseline-relative           600                50    50   1   0        0.5
baseline-relative           600               650    50   1   0        2/3
baseline-relative           600              -250    50   1   0        1/3
baseline-relative           600              -550    50   1   0          0
baseline-relative           600              -551    50   1   0          0
baseline-relative           600                50    50 0.5   0       0.25
baseline-relative           600              -550    50   1   1          0
baseline-relative           600              -670    50   1   1      -0.25
baseline-relative           600              -850    50   1 0.5       -0.5
baseline-relative           600             -1050    50   1 0.5       -0.5
baseline-relative           600             -1150    50   1   1          0
baseline-relative           600   -1149.999999999    50   1   1          0
baseline-relative           600             -5000    50   1   1          0
"""


@pytest.mark.parametrize("rule", RATIOS)
def test_the_ratio_of_each_rule(rule):
    """The clipped rule rejects all when the mean is far below the baseline, as the authors' code does."""
    cases = [line.split()[1:] for line in RATIO_CASES.splitlines() if line.startswith(f"{rule} ")]
    for *given, p in cases:
        scale, f_z, f_mean, *psg = map(float, given)
        assert update_ratio(rule, f_z, f_mean, scale, tuple(psg)) == pytest.approx(float(Fraction(p))), given
    for pair in ((math.nan, 1.0), (math.inf, 1.0), (-math.inf, 1.0), (1.0, math.nan)):
        assert update_ratio(rule, *pair, scale, (1.0, 1.0)) == 0.0


def test_the_relative_baseline_gives_what_the_authors_program_logged():
    """A run of AES-RL's public code on HalfCheetah-v5 (results/reference/authors-aes-rl), f_b = 2000."""
    path = Path(__file__).parents[3] / "results" / "reference" / "authors-aes-rl" / "scalars.csv"
    logged = {}
    for row in csv.DictReader(path.read_text().splitlines()):
        logged.setdefault(int(row["total_steps"]), {})[row["name"]] = float(row["value"])
    assert len(logged) == 8
    for values in logged.values():
        ours = update_ratio("baseline-relative", values["train/individuals"], values["test/mean"], 2000.0, (1.0, 0.0))
        assert ours == pytest.approx(values["train/p"], rel=1e-12)


def test_a_move_goes_its_share_of_the_way():
    mean, z = np.array([0.0, 4.0]), np.array([8.0, 0.0], np.float32)
    for p, expected in ((0.25, [2.0, 3.0]), (-0.25, [-2.0, 5.0]), (0.0, mean), (1.0, z)):
        assert_array_equal(move(mean, z, p), expected)
    assert_allclose(oldest(np.array([1.0, 2.0]), np.array([11.0, 0.0]), 10), [2.0, 1.8])


def test_the_variance_by_each_rule():
    old, new, z = np.array([0.0, 1.0]), np.array([0.2, 1.0]), np.array([1.0, 1.0], np.float32)
    variance = online_fixed(np.array([0.3, 0.5]), z, old, new, 0.2, 10.0)
    assert_allclose(variance, [0.3 + (1.0 * 0.8 - 0.3) / 10, 0.5 - 0.05])
    assert variance.dtype == np.float64
    assert_allclose(success_rule(np.array([0.1]), [True] * 2 + [False] * 8), [0.1 * 0.99])
    assert_allclose(success_rule(np.array([0.1]), [True] * 3 + [False] * 7), [0.1 / 0.99])
    floor, zero = np.full(2, 1e-5), np.zeros(2)
    assert_array_equal(online_fixed(floor, zero, zero, zero, 0.5, 10.0), floor)
    assert_array_equal(success_rule(floor, [False] * 10), floor)


@pytest.mark.parametrize(
    ("p", "expected"),
    [(0.2, 0.3 + (0.8 - 0.3) / 4), (0.5, 0.5), (0.75, 0.25), (1.0, 1e-5), (0.0, 0.3), (-0.5, 0.3), (0.0009, 0.3)],
)
def test_online_adaptive_by_hand(p, expected):
    """z lies 1 from the old mean; from p = 1/2 on, n is 1 and the variance (1 - p); p = 1 leaves the floor."""
    old, z = np.array([0.0]), np.array([1.0], np.float32)
    variance = online_adaptive(np.array([0.3]), z, old, (1 - p) * old + p * z, p)
    assert_allclose(variance, [expected])


def test_windows_of_three_outcomes():
    """The public code's one freezes."""
    for rule, sums in ((slide, [1, 1, 2, 1, 1, 0]), (freeze, [1, 1, 2, 2, 2, 2])):
        window = []
        for number, successes in enumerate(sums):
            window, acts = rule(window, number in (0, 2), 3)
            assert (sum(window), acts) == (successes, number >= 3)
