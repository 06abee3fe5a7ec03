"""The rule is the one that the page describes; its errors and the coverage of intervals are those that it prints."""

import csv

import numpy as np
import pytest
from scipy import stats

from erlbench.reporting.significance import Case, compare, judge, rank_test, rank_tests
from tests.audit import coverage, verdict_rates
from tests.audit.verdict_rates import DATA, file_of

README = " ".join((DATA.parents[1] / "README.md").read_text(encoding="utf-8").split())
FEW = 4000  # studies
NOISE = 4 * np.sqrt(0.05 * 0.95 / FEW)  # four standard errors


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def rates(table):
    """The numbers of a table of the page, by the words of the row."""
    numbers = {}
    for row in read(file_of(table))[1:]:
        names = [cell for cell in row if not cell.endswith(" %")]
        numbers[" | ".join(names)] = [float(cell[:-2]) / 100 for cell in row[len(names) :]]
    return numbers


@pytest.mark.parametrize(("n", "m"), [(2, 2), (5, 20), (6, 6), (9, 9), (10, 10), (20, 20), (6, 20), (20, 8)])
@pytest.mark.parametrize("tests", [1, 3])
def test_the_program_says_what_the_rule_says(n, m, tests):
    rng, every = np.random.default_rng(n), set()
    for shape, draw in verdict_rates.SHAPES.items():
        for spread, factor in ((verdict_rates.TIGHT[shape], 1.0), (verdict_rates.TIGHT[shape], 1.3), (0.01, 1.02)):
            x, y = factor * draw(rng, 4, n, spread=spread), draw(rng, 4, m, spread=spread)
            pairs = [(a, b, compare(a, b)) for a, b in zip(x, y, strict=True)]
            said = [judge(*pair, p=tests * pair[2]["p_rank"], tests=tests)["case"] for pair in pairs]
            assert said == list(verdict_rates.cases(x, y, tests))
            every |= set(said)
    if min(n, m) < 6:
        assert every == {Case.TOO_FEW}
    elif tests == 1:
        assert every >= {Case.DECIDED, Case.RANKS, Case.UNDECIDED}


@pytest.mark.parametrize("seeds", [(6, 6), (9, 9), (10, 10), (20, 20), (6, 20)])
def test_wrong_verdicts_are_rare_and_the_page_has_their_share(seeds):
    name = str(seeds[0]) if seeds[0] == seeds[1] else "{} and {}".format(*seeds)
    printed = rates(verdict_rates.one_comparison)[name]
    measured = [verdict_rates.worst_rate(draw, seeds, FEW) for draw in verdict_rates.SYMMETRIC.values()]
    assert measured == pytest.approx(printed, abs=NOISE)
    assert max(measured) <= 0.05


def test_the_sentences_of_the_pages_have_the_rates_of_the_tables():
    worst = max(map(max, rates(verdict_rates.one_comparison).values()))
    family = max(map(max, rates(verdict_rates.families).values()))
    assert f"in at most {100 * worst:.1f} % of simulated studies" in README
    assert f"in up to {100 * family:.0f} %" in README


def test_p_is_that_of_scipy():
    rng = np.random.default_rng(0)
    for n, m in ((6, 6), (7, 12), (20, 9), (15, 15)):
        a, b = rng.normal(size=n), rng.normal(0.8, 3, size=m)
        exact, placements = stats.mannwhitneyu(a, b, method="exact").pvalue, stats.brunnermunzel(a, b).pvalue
        assert verdict_rates.brunner_munzel_p(a[None], b[None])[0] == pytest.approx(placements)
        assert compare(a, b)["p_rank"] == pytest.approx(max(exact, placements))
        tied = np.round(a), np.round(b)
        tests = stats.mannwhitneyu(*tied, method="asymptotic"), stats.brunnermunzel(*tied)
        assert compare(*tied)["p_rank"] == pytest.approx(max(test.pvalue for test in tests))


@pytest.mark.slow
def test_intervals_cover_as_often_as_the_page_prints():
    for measured, printed in zip(coverage.table()[1:], read(DATA / "interval-coverage.csv")[1:], strict=True):
        assert measured[:2] == printed[:2]
        assert [*map(float, measured[2:])] == pytest.approx([*map(float, printed[2:])], abs=0.02)


def test_the_p_values_of_many_pairs_are_those_of_each():
    """Sizes, ties, samples apart, equal ones and too few in turn: each pair gets its p-value, to the last bit."""
    rng, pairs = np.random.default_rng(1), []
    for n, m in ((6, 6), (7, 12), (6, 6), (20, 9), (7, 12), (5, 9)) * 3:
        a, b = rng.normal(size=n), rng.normal(0.8, 3, size=m)
        pairs += [(a, b), (np.round(a), np.round(b)), (a, b + 99), (0 * a, 0 * b)]
    p_values = rank_tests(pairs)
    assert p_values.tobytes() == np.array([rank_test(*pair) for pair in pairs]).tobytes()
    assert [min(map(len, pair)) < 6 for pair in pairs] == np.isnan(p_values).tolist()
