"""The benchmarks' own arithmetic: mutations, and the interval of a difference of shares."""

import ast

import pytest
from statsmodels.stats import proportion

from benchmarks.atari import share_difference
from benchmarks.mutations import mutations


def test_a_mutation_changes_one_place():
    source = b"""def f(x: int = 1) -> float:
    g(x)
    if x < 2 and not x:
        x += max(x, 0.5)
    return x * -3 if x else x
"""
    made = {(each.line, each.before, each.after) for each in mutations("f.py", source)}
    assert made >= {
        (1, "1", "(2)"), (2, "g(x)", "pass"), (3, "x < 2", "(x <= 2)"), (3, "x < 2", "(not (x < 2))"),
        (3, "not x", "(x)"), (3, "x < 2 and not x", "(x < 2 or not x)"), (4, "x += max(x, 0.5)", "x -= max(x, 0.5)"),
        (4, "max", "min"), (4, "0.5", "(0.25)"), (5, "-3", "(3)"), (5, "x * -3", "(x / -3)"),
        (5, "x * -3 if x else x", "(x if x else x * -3)"),
    }  # fmt: skip
    for each in mutations("f.py", source):
        ast.parse(source[: each.start] + each.after.encode() + source[each.end :])


@pytest.mark.parametrize("counts", [(0, 296, 8, 4394), (5, 40, 0, 30), (17, 50, 20, 60)])
def test_the_interval_of_a_difference_of_shares_is_newcombes(counts):
    low, high = proportion.confint_proportions_2indep(*counts, method="newcomb")
    of, runs, of_other, others = counts
    assert share_difference(*counts) == pytest.approx((of / runs - of_other / others, low, high))
