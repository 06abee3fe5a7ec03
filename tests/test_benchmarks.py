"""The benchmarks' own arithmetic: what counts as met, and modules that fail."""

import ast
import json

import pytest
from click.testing import CliRunner
from statsmodels.stats import proportion

from benchmarks.__main__ import NAMES, main
from benchmarks.atari import share_difference
from benchmarks.harness import Claim
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


def test_a_benchmark_that_fails_costs_only_its_own_rows(tmp_path, monkeypatch):
    def fail():
        yield Claim("before", 1.0, 2.0)
        raise RuntimeError("no such thing")

    monkeypatch.setattr("benchmarks.speed.learning.measure", fail)
    monkeypatch.setattr("benchmarks.speed.driver.measure", lambda: [Claim("other", 3.0, 2.0)])
    done = CliRunner().invoke(main, ["learning", "driver", "--out", str(tmp_path / "bench.json")])
    assert done.exit_code == 1
    assert "end: learning" in done.output
    claims = json.loads((tmp_path / "bench.json").read_text())["claims"]
    assert [claim["measured"] for claim in claims] == [1.0, 3.0]
    unknown = CliRunner().invoke(main, ["rolouts"])
    assert (unknown.exit_code, all(name in unknown.output for name in NAMES)) == (2, True)


@pytest.mark.parametrize("counts", [(0, 296, 8, 4394), (5, 40, 0, 30), (17, 50, 20, 60)])
def test_the_interval_of_a_difference_of_shares_is_newcombes(counts):
    low, high = proportion.confint_proportions_2indep(*counts, method="newcomb")
    of, runs, of_other, others = counts
    assert share_difference(*counts) == pytest.approx((of / runs - of_other / others, low, high))
