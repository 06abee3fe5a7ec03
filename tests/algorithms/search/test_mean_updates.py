import csv
import math
from pathlib import Path

import numpy as np
import pytest

from erlbench.algorithms.search.aes_updates import (
    RATIOS,
    baseline_absolute,
    baseline_absolute_clipped,
    baseline_relative,
    fixed_range_linear,
    fixed_range_sigmoid,
    full_move,
    move,
    oldest,
    update_ratio,
)


@pytest.mark.parametrize(("f_z", "f_mean", "p"), [(11, 10, 1), (10, 10, 0), (9, 10, 0)])
def test_full_move_needs_a_strictly_better_individual(f_z, f_mean, p):
    assert full_move(f_z, f_mean) == p


@pytest.mark.parametrize(
    ("difference", "psg", "p"),
    [
        (500, (1, 0), 0.25), (2000, (1, 0), 1.0), (9000, (1, 0), 1.0), (0, (1, 0), 0.0), (-500, (1, 0), 0.0),
        (500, (0.5, 0), 0.125), (-500, (1, 0.4), -0.1), (-9000, (1, 0.4), -0.4),
    ],
)  # fmt: skip
def test_fixed_range_linear(difference, psg, p):
    assert fixed_range_linear(3000 + difference, 3000, 2000, psg) == pytest.approx(p)


@pytest.mark.parametrize(
    ("difference", "psg", "p"),
    [
        (0, (1, 1), 0.5), (2000, (1, 1), 0.7310586), (-2000, (1, 1), 0.2689414), (-4000, (1, 1), 0.1192029),
        (0, (1, 0), 0.0), (1e-9, (1, 0), 0.5), (-2000, (1, 0), 0.0), (-2000, (1, -1), -0.2689414),
        (1e9, (1, 1), 1.0), (-1e9, (1, 1), 0.0),
    ],
)  # fmt: skip
def test_fixed_range_sigmoid(difference, psg, p):
    assert fixed_range_sigmoid(difference, 0, 2000, psg) == pytest.approx(p)


@pytest.mark.parametrize(
    ("f_z", "f_mean", "p"),
    [
        (100, 100, 0.5), (400, 100, 0.6), (-2001, 100, 0.0), (-2000, 100, 0.0), (100, -2000, 1.0),
        (-1900, -9000, 1.0), (-2000, -2000, 1.0), (12000, 11000, 14 / 27),
    ],
)  # fmt: skip
def test_baseline_absolute(f_z, f_mean, p):
    scale = -500 if (f_z, f_mean) == (400, 100) else -2000
    assert baseline_absolute(f_z, f_mean, scale) == pytest.approx(p)


@pytest.mark.parametrize(
    ("f_z", "f_mean", "p"),
    [(100, 100, 0.5), (-1900, -9000, 0.0), (-1900, -2050, 1.0), (-1950, -2050, 0.0), (-2001, 0, 0)],
)
def test_baseline_absolute_as_in_the_code_rejects_all_when_the_mean_is_far_below(f_z, f_mean, p):
    assert baseline_absolute_clipped(f_z, f_mean, -2000) == pytest.approx(p)


@pytest.mark.parametrize(
    ("difference", "psg", "p"),
    [
        (0, (1, 0), 1 / 2), (600, (1, 0), 2 / 3), (-300, (1, 0), 1 / 3), (-600, (1, 0), 0.0), (-601, (1, 0), 0.0),
        (6e9, (1, 0), 1.0), (0, (0.5, 0), 0.25), (-600, (1, 1), 0.0), (-720, (1, 1), -0.25), (-900, (1, 0.5), -0.5),
        (-1100, (1, 0.5), -0.5), (-1200, (1, 1), 0.0), (-5000, (1, 1), 0.0), (-1200 + 1e-9, (1, 1), 0.0),
    ],
)  # fmt: skip
def test_baseline_relative(difference, psg, p):
    assert baseline_relative(50 + difference, 50, 600, psg) == pytest.approx(p)


@pytest.mark.parametrize("rule", RATIOS)
def test_no_rule_moves_for_values_that_are_not_finite(rule):
    for pair in ((math.nan, 1.0), (math.inf, 1.0), (-math.inf, 1.0), (1.0, math.nan)):
        assert update_ratio(rule, *pair, 600.0 if "absolute" not in rule else -600.0, (1.0, 1.0)) == 0.0


def test_a_move_goes_its_share_of_the_way():
    mean, z = np.array([0.0, 4.0]), np.array([8.0, 0.0], np.float32)
    np.testing.assert_array_equal(move(mean, z, 0.25), [2.0, 3.0])
    np.testing.assert_array_equal(move(mean, z, -0.25), [-2.0, 5.0])
    np.testing.assert_array_equal(move(mean, z, 0.0), mean)
    np.testing.assert_array_equal(move(mean, z, 1.0), z)
    assert move(mean, z, 0.5).dtype == np.float64


def test_oldest_goes_one_tenth_of_the_way():
    np.testing.assert_allclose(oldest(np.array([1.0, 2.0]), np.array([11.0, 0.0]), 10), [2.0, 1.8])


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
