"""How a claim stands: intervals beside scipy's, and the rule on numbers that are known."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from erlbench.claims.effects import shares
from erlbench.claims.evidence import SideReading, Sources
from erlbench.claims.standing import Standing, standing_of
from erlbench.experiment.claims import RATIO, SHARES, SPREAD, Claim, ClaimPart, Evidence
from erlbench.reporting.data.published import Number, Published
from erlbench.reporting.data.references import ReferenceRuns, References, Source

TEXTS = dict.fromkeys(("document", "place", "whose", "says", "holds", "fails", "test", "budget"), "text")
SOURCE = Source(
    name="O", repository="", commit="", licence="", training_returns=("T",), environments="", caveat="", description=""
)
NEAR = {"A": (10.0, 2.0, 10), "B": (5.0, 3.0, 8), "few": (50.0, 1.0, 4)}


def number(name, statistic, value, seeds):
    return Number(source="P", table="T", env="X-v2", algorithm=name, statistic=statistic, value=value, steps=None,
                  seeds=seeds, note="")  # fmt: skip


def sources(*more, runs=()):
    numbers = [number(name, statistic, value, seeds) for name, (mean, std, seeds) in NEAR.items()
               for statistic, value in (("mean", mean), ("std", std))]  # fmt: skip
    sets = [
        ReferenceRuns(SOURCE, "X-v2", name, tuple((np.array([0.0, 1e6]), np.array([0.0, score])) for score in scores))
        for name, scores in runs
    ]
    return Sources(Path("nowhere"), Published([*numbers, *more], References(sets)))


def published(name, **more):
    return Evidence(published="P", table="T", env="X-v2", name=name, **more)


def others(name):
    return Evidence(others="O", env="X-v2", name=name)


def claim(*sides, **more):
    parts = tuple(ClaimPart(label=str(index), first=one, second=two) for index, (one, two) in enumerate(sides))
    return Claim(id="c", parts=parts, **TEXTS, **more)


def test_an_interval_of_published_summaries_is_welchs():
    (part,) = standing_of(claim((published("A"), published("B"))), sources()).parts
    found = stats.ttest_ind_from_stats(*NEAR["A"], *NEAR["B"], equal_var=False)
    freedom = (4 / 10 + 9 / 8) ** 2 / ((4 / 10) ** 2 / 9 + (9 / 8) ** 2 / 7)
    half = stats.t.ppf(0.975, freedom) * 5 / found.statistic
    assert part.effect == 5
    np.testing.assert_allclose(part.interval, (5 - half, 5 + half))
    assert part.runs == (10, 8)


def test_parts_share_the_level():
    x, y = np.random.default_rng(0).normal(size=(2, 8))
    known = sources(runs=[("x", x), ("y", y)])
    found = standing_of(claim(*[(others("x"), others("y"))] * 4), known)
    expected = stats.ttest_ind(x, y, equal_var=False).confidence_interval(1 - 0.05 / 4)
    for part in found.parts:
        np.testing.assert_allclose(part.interval, expected)


@pytest.mark.parametrize(
    ("margin", "sides", "standing"),
    [  # the effect of A over B is 5, from 2.3 to 7.7
        (0.0, "AB", Standing.HOLDS),
        (2.0, "AB", Standing.HOLDS),
        (3.0, "AB", Standing.OPEN),
        (7.0, "AB", Standing.OPEN),
        (8.0, "AB", Standing.BOUNDED),
        (0.0, "BA", Standing.FAILS),
        (8.0, "BA", Standing.FAILS),
    ],
)
def test_a_part_stands_by_its_interval_beside_what_is_claimed(margin, sides, standing):
    one, two = map(published, sides)
    assert standing_of(claim((one, two), margin=margin), sources()).standing is standing


def test_equal_means_lie_within_the_margin_with_their_whole_interval():
    runs = [("x", np.full(9, 100.0) + np.arange(9) / 10), ("y", np.full(9, 101.0) + np.arange(9) / 10),
            ("far", np.full(9, 150.0) + np.arange(9)), ("wide", 100.0 + 40 * np.arange(-4, 5))]  # fmt: skip
    known = sources(runs=runs)
    found = {name: standing_of(claim((others(name), others("x")), within=0.1), known).standing for name, _ in runs[1:]}
    assert found == {"y": Standing.HOLDS, "far": Standing.FAILS, "wide": Standing.OPEN}


UP, DOWN, UNKNOWN = (published("A"), published("B")), (published("B"), published("A")), (published("A"), published("A"))


@pytest.mark.parametrize(
    ("sides", "needs", "standing"),
    [
        ([UP, UP], 0, Standing.HOLDS),
        ([UP, DOWN], 1, Standing.HOLDS),
        ([UP, DOWN], 0, Standing.ONLY_IF),
        ([UP, DOWN, UNKNOWN], 0, Standing.ONLY_IF),
        ([UP, UNKNOWN], 0, Standing.OPEN),
        ([DOWN, DOWN], 0, Standing.FAILS),
        ([DOWN, UNKNOWN], 0, Standing.OPEN),  # it may hold for the other part alone
        ([UNKNOWN], 0, Standing.OPEN),
        ([], 0, Standing.OPEN),
    ],
)
def test_a_claim_stands_by_the_parts_that_it_needs(sides, needs, standing):
    assert standing_of(claim(*sides, needs=needs, lacks="text"), sources()).standing is standing


def test_nothing_is_decided_by_fewer_than_five_runs_a_side():
    found = standing_of(claim((published("few"), published("B"))), sources())
    assert found.standing is Standing.OPEN
    assert found.parts[0].effect == 45
    assert math.isnan(found.parts[0].interval[0])


def test_numbers_without_spread_are_compared_as_they_are():
    known = sources()
    saved = (Evidence(value=1.0), Evidence(value=20.0, env="X-v2", over=Evidence(value=100.0)))
    for margin, standing in ((0.75, Standing.HOLDS), (0.8, Standing.HOLDS), (0.9, Standing.BOUNDED)):
        found = standing_of(claim(saved, margin=margin), known)
        assert found.standing is standing
        assert found.parts[0].effect == pytest.approx(0.8)
    assert standing_of(claim(saved[::-1]), known).standing is Standing.FAILS


def test_a_spread_is_that_of_the_samples_and_needs_the_single_scores():
    rng = np.random.default_rng(1)
    wide, narrow = rng.normal(100, 40, 20), rng.normal(100, 2, 20)
    known = sources(runs=[("wide", wide), ("narrow", narrow)])
    found = standing_of(claim((others("wide"), others("narrow")), measure=SPREAD), known)
    assert found.standing is Standing.HOLDS
    assert found.parts[0].effect == pytest.approx(stats.variation(wide, ddof=1) - stats.variation(narrow, ddof=1))
    assert standing_of(claim((published("A"), published("B")), measure=SPREAD), known).standing is Standing.OPEN


def test_a_ratio_is_of_geometric_means_with_welchs_interval_of_the_logarithms():
    slow, fast = np.array([4.0, 5, 6, 5, 4]), np.array([1.0, 2, 1, 2, 1])
    known = sources(runs=[("slow", slow), ("fast", fast), ("never", np.array([1.0, 2, 3, 4, math.inf]))])
    asked = (others("slow"), others("fast"))
    found = standing_of(claim(asked, measure=RATIO, null=1.0, margin=2.0), known)
    expected = stats.ttest_ind(np.log(slow), np.log(fast), equal_var=False).confidence_interval(0.95)
    assert found.parts[0].effect == pytest.approx(stats.gmean(slow) / stats.gmean(fast))
    np.testing.assert_allclose(found.parts[0].interval, np.exp(expected))
    assert found.standing is Standing.HOLDS
    turned = standing_of(claim(asked[::-1], measure=RATIO, null=1.0, margin=2.0), known)
    assert turned.standing is Standing.FAILS
    open_ = standing_of(claim((others("never"), others("fast")), measure=RATIO, null=1.0, margin=1.0), known)
    assert open_.standing is Standing.OPEN


def test_shares_have_the_intervals_of_wilson_and_newcombe():
    """Newcombe 1998, table II, (d) and (h): 9 of 10 and 3 of 10; 10 of 10 and 0 of 10; method 10."""

    def side(many, of):
        return SideReading.of("X-v2", np.array([1.0] * many + [0.0] * (of - many)))

    np.testing.assert_allclose(shares(side(9, 10), side(3, 10), 0.95), (0.6, 0.1705, 0.8090), atol=5e-5)
    np.testing.assert_allclose(shares(side(10, 10), side(0, 10), 0.95), (1.0, 0.6075, 1.0), atol=5e-5)
    wilson = stats.binomtest(1, 5).proportion_ci(method="wilson")
    expected = (0.3, 0.5 - wilson.high, 0.5 - wilson.low)
    np.testing.assert_allclose(shares(SideReading(number=0.5), side(1, 5), 0.95), expected)
    np.testing.assert_allclose(shares(side(1, 5), SideReading(number=0.5), 0.95), [-x for x in (0.3, *expected[:0:-1])])


def test_five_of_five_runs_are_more_than_one_half_and_four_are_not():
    half = Evidence(value=0.5)
    for many, standing in ((5, Standing.HOLDS), (4, Standing.OPEN), (0, Standing.FAILS)):
        known = sources(runs=[("x", [1.0] * many + [0.0] * (5 - many))])
        assert standing_of(claim((others("x"), half), measure=SHARES), known).standing is standing


def test_samples_of_the_same_seeds_are_divided_seed_by_seed():
    one, two = (SideReading.of("X-v2", np.array(values), (7, 3)) for values in ([6.0, 8.0], [2.0, 4.0]))
    np.testing.assert_array_equal(one.over(two).scores, [3.0, 2.0])
    other = SideReading.of("X-v2", np.array([2.0, 4.0]), (3, 7))
    assert one.over(other).problem
    assert one.over(SideReading(problem="no runs")).problem == "no runs"


def test_evidence_that_says_nothing_leaves_a_part_open():
    known = sources(
        replace(number("odd", "mean", 1.0, 5), comparable=False),
        *(replace(number("B", name, 1.0, 8), env="Y-v2") for name in ("mean", "std")),
        runs=[("T", np.arange(8.0))],
    )
    asked = {
        "return": published("odd"),
        "training": others("T"),
        "no mean": published("missing"),
        "no runs": others("missing"),
        "stored": Evidence(runs=("nothing",), env="X-v2", name="A"),
        "two tasks": published("A"),
    }
    other = {"two tasks": replace(published("B"), env="Y-v2")}
    for why, one in asked.items():
        (part,) = standing_of(claim((one, other.get(why, published("B")))), known).parts
        assert part.standing is Standing.OPEN
        assert why in part.why
