"""The rule is the one that the page describes; its errors and the coverage of intervals are those that it prints."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from erlbench.reporting.statistics.significance import compare, holm
from erlbench.reporting.verdict.rule import judge, unseen_failures
from tests.audit import coverage, verdicts

PAGE = (Path(__file__).parents[2] / "docs" / "how-we-decide.md").read_text()
NOISE = 4 * np.sqrt(0.05 * 0.95 / verdicts.STUDIES)  # four standard errors


@pytest.mark.parametrize("seeds", [2, 4, 5, 10, 20, 30])
def test_the_program_says_what_the_rule_says(seeds):
    rng, found = np.random.default_rng(seeds), set()
    for shape, draw in verdicts.SHAPES.items():
        for spread, factor in ((verdicts.TIGHT[shape], 1.0), (verdicts.TIGHT[shape], 1.2), (0.01, 1.0), (0.01, 1.02)):
            x, y = factor * draw(rng, 4, seeds, spread), draw(rng, 4, seeds, spread)
            wanted = verdicts.cases(x, y)
            said = [judge(a, b, p=compare(a, b).p).case for a, b in zip(x, y, strict=True)]
            assert said == list(wanted)
            found |= set(said)
    assert found == {"too few"} if seeds < 5 else {"decided", "undecided"} | ({"equivalent"} if seeds >= 20 else set())


@pytest.mark.parametrize("title", verdicts.TABLES)
def test_each_wrong_verdict_is_rare_and_the_page_has_its_share(title):
    rates = list(verdicts.TABLES[title]())
    for _, seeds, rate in rates:
        unequal = title.endswith("unequal spreads") and seeds == 5  # five runs fall on one side of the others so often
        assert rate <= (2 * 0.5**5 if unequal else 0.05) + NOISE
    for line in verdicts.rows(iter(rates)):
        assert line in PAGE


def test_the_page_has_what_is_found_and_what_the_second_test_of_ranks_costs():
    rates = list(verdicts.rightly_decided())
    for line in verdicts.rows(iter(rates)):
        assert line in PAGE
    found = {(name, seeds): rate for name, seeds, rate in rates}
    for (name, seeds), rate in found.items():
        without = found.get((f"{name}, without the second test of ranks", seeds), rate)
        assert without - 0.2 < rate <= without


def test_the_page_has_how_often_equal_means_are_decided_where_the_shapes_differ():
    """Five runs of which one of ten fails mostly show no failure, so no rule can see that the means agree."""
    rates = list(verdicts.decided_though_means_are_equal())
    for line in verdicts.rows(iter(rates)):
        assert line in PAGE
    found = {(name, seeds): rate for name, seeds, rate in rates}
    assert found["Swimmer against steady runs: a mean above", 5] == pytest.approx(0.9**5, abs=0.02)
    for seeds in verdicts.SEEDS:
        assert f"{100 * unseen_failures(seeds):.0f} % with {seeds}" in " ".join(PAGE.split())


def test_the_program_has_the_same_ground_of_a_decision():
    rng = np.random.default_rng(7)
    grounds = set()
    for _ in range(40):
        x, y = verdicts.swimmer(rng, 1, 10), verdicts.normal(rng, 1, 10, 0.01)
        means, ranks = stats.ttest_ind(x[0], y[0], equal_var=False).pvalue, verdicts.rank_p(x, y)[0]
        said = judge(x[0], y[0], p=compare(x[0], y[0]).p)
        decided = 2 * min(means, ranks) < verdicts.LEVEL
        assert said.by_means == bool(decided and (means <= ranks or 2 * means < verdicts.LEVEL))
        grounds.add((bool(decided), said.by_means))
    assert grounds >= {(True, True), (True, False)}


def test_p_is_that_of_scipy():
    rng = np.random.default_rng(0)
    for n, m in ((5, 5), (7, 12), (20, 9)):
        a, b = rng.normal(size=n), rng.normal(0.8, 3, size=m)
        found = compare(a, b)
        exact, placements = stats.mannwhitneyu(a, b, method="exact").pvalue, stats.brunnermunzel(a, b).pvalue
        means, ranks = stats.ttest_ind(a, b, equal_var=False).pvalue, max(exact, placements)
        assert verdicts.mann_whitney_p(a[None], b[None])[0] == pytest.approx(exact)
        assert verdicts.brunner_munzel_p(a[None], b[None])[0] == pytest.approx(placements)
        assert (found.welch, found.rank) == (pytest.approx(means), pytest.approx(ranks))
        assert found.p == pytest.approx(min(1, 2 * min(means, ranks)))
        assert verdicts.rank_p(a[None], b[None])[0] == pytest.approx(ranks)
    assert holm([0.01, 0.04, 0.03]) == [pytest.approx(0.03), pytest.approx(0.06), pytest.approx(0.06)]


def test_intervals_cover_as_the_page_says():
    """Student's misses a failure of one run in ten, whatever the report does: so the page and the captions say it."""
    found = coverage.table()
    for line in found:
        assert line in PAGE
    assert coverage.COVERED["Welch's, of a difference", "normal", 10] >= 0.93
    assert coverage.COVERED["Student's, of a mean", "Swimmer", 5] < 0.6
    assert min(rate for (name, *_), rate in coverage.COVERED.items() if name.startswith("Wilson")) >= 0.9
