"""The verdicts of hand-made runs: in the terminal, on the page and in verdict.json; and the rule at its boundaries."""

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from erlbench.reporting.formats import number
from erlbench.reporting.significance import Case, compare, judge
from erlbench.reporting.words import best_first, details, result, select_spoken, sentence
from tests.files import edit, edit_json, edit_rows, read_json
from tests.reporting.compare import page_of, pairs_of, read, run_report, write_report
from tests.reporting.make_runs import make_cells, make_run
from tests.tables import cells

ENV = "Mine-v0"
NORMAL = 100 + 3 * np.random.default_rng(0).normal(size=(2, 20))
CLEAR = ([140.0, 150, 145, 160, 148, 151, 149], [100.0, 110, 90, 105, 95, 99, 98])
OVERLAPPING = ([100.0, 120, 90, 130, 80, 104, 103], [105.0, 95, 125, 85, 110, 99, 98])
CASES = {  # scores of a and b, the case, and the first words about it
    "clear": (*CLEAR, Case.DECIDED, "Decided: runs of a score"),
    "small": (100 + 0.1 * np.arange(10), 99 - 0.1 * np.arange(10), Case.RANKS, "Higher by less than 10 %: runs"),
    "overlapping": (*OVERLAPPING, Case.UNDECIDED, "Undecided"),
    "alike, many": (*NORMAL, Case.EQUIVALENT, "Equivalent"),
    "five": ([140.0, 150, 145, 160, 155], [1.0, 2, 3, 4, 5, 6], Case.TOO_FEW, "Undecided, too few seeds"),
    "a winner with the lower mean": (
        [12 + 0.01 * seed for seed in range(9)] + [-90.0],
        [10 + 0.01 * seed for seed in range(10)],
        Case.RANKS,
        "Higher, with a lower mean: runs of a score higher than runs of b",
    ),
}


def pair_of(folder, a, b):
    make_cells(folder, ENV, {"a": a, "b": b})
    (pair,) = pairs_of(page_of(folder))
    return pair


@pytest.mark.parametrize("what", CASES)
def test_each_case(tmp_path, what):
    a, b, case, words = CASES[what]
    pair = pair_of(tmp_path, a, b)
    assert pair.case == case
    assert sentence(pair).startswith(words)
    assert (pair.seeds_missing == 0) == (case in (Case.DECIDED, Case.RANKS, Case.EQUIVALENT))
    if case in (Case.DECIDED, Case.RANKS):
        assert [side.name for side in (best_first(pair).first, best_first(pair).second)] == ["a", "b"]
        assert pair.gain == pytest.approx(np.mean(a) - np.mean(b))
        assert number(abs(pair.gain)) in sentence(pair)
    if case == Case.TOO_FEW:
        behind = " ".join([sentence(pair), *details(pair)])
        assert not [word for word in (" p ", "interval") if word in behind]


def test_all_sentences_have_the_better_side_first(tmp_path):
    pair = pair_of(tmp_path, np.linspace(1, 2, 8), np.linspace(5, 6, 9))
    assert sentence(pair).endswith("; 9 and 8 seeds.")
    pair = pair._replace(unequal={"hidden": ("of a", "of b")}, equal_steps=(1.0, 2.0))
    first, means, *_, settings = details(pair)
    assert first.startswith("Mean difference 4.00 [3.")
    assert means == "Means: b 5.50 and a 1.50."
    assert settings == "Settings differ: hidden of b and of a."
    assert pair.probability_low < pair.probability_high < 0.5
    ends = f"{1 - pair.probability_high:.2f}, {1 - pair.probability_low:.2f}"
    assert "runs of b score higher than runs of a" in sentence(pair)
    assert f"(P = 1.00 [{ends}])" in sentence(pair)


def test_steps_that_the_budget_does_not_count_are_said_with_both_scores_at_as_many(tmp_path):
    for seed in range(6):
        make_run(tmp_path, ENV, "a", seed, [10 * i + seed for i in range(11)], fitness=4)
        make_run(tmp_path, ENV, "b", seed, [8 * i + seed for i in range(11)])
    (pair,) = pairs_of(page_of(tmp_path))
    assert pair.equal_steps == (pytest.approx(18.5), pytest.approx(66.5))  # 1,600 of 8,000 steps, in the mean
    assert "a used 5.0 times the simulator steps" in sentence(pair)


def test_one_sentence_over_all_comparisons_names_what_is_decided_and_counts_the_rest(tmp_path):
    for env, sides in (("One-v0", CLEAR), ("Two-v0", CLEAR), ("Three-v0", ([140.0], [1.0])), ("Four-v0", OVERLAPPING)):
        make_cells(tmp_path / "runs", env, dict(zip("ab", sides)))
    pairs = pairs_of(page_of(tmp_path / "runs"))
    said = (
        "Runs of a score higher than runs of b on One-v0 and Two-v0; 1 comparison is undecided and 1 has too few seeds."
    )
    assert result(pairs) == said
    assert result([]) == ""
    assert [pairs[i].env for i in select_spoken([pair.case for pair in pairs])] == ["One-v0", "Two-v0", "Four-v0"]
    printed, out = run_report(tmp_path / "runs", "--out", tmp_path / "out"), tmp_path / "out"
    page = read(out / "all-runs/index.md").replace("\\", "")
    stored = {pair["env"]: pair for pair in read_json(out / "verdict.json")["verdicts"]["all-runs"]}
    pair = stored["One-v0"]
    assert pair["case"] == "decided"
    assert pair["first"]["scores"] == CLEAR[0]
    least = 4 * 2 / math.comb(14, 7)  # all of one side above the other, in one of three tests; the table has three
    assert pair["outcome"]["p"] == pytest.approx(least * 3 / 4)
    for text in (printed, page):
        assert not [words for words in (said, pair["sentence"], *pair["details"]) if words not in text]


def test_of_many_algorithms_the_best_one_is_compared_with_the_rest_and_all_pairs_count(tmp_path):
    """A page of more than six had no comparison and no sentence."""
    seeds = np.arange(10)
    scores = {name: 20 * number + seeds + 0.1 * number for number, name in enumerate("abcdefgh")}
    make_cells(tmp_path, ENV, scores | {"h": scores["h"][:2]}, before=(0,))
    comparison = page_of(tmp_path)
    pairs = pairs_of(comparison)
    assert {(pair.name, pair.tests) for pair in pairs} == {("g", 21)}  # h has a higher mean, of two seeds
    assert [pair.name_against for pair in pairs] == [*"abcdef", "h"]
    apart = [compare(first.scores, second.scores)["p_rank"] for first, second in combinations(comparison.rows[:-1], 2)]
    assert min(pair.p_holm for pair in pairs) == pytest.approx(21 * min(apart))
    assert {pair.name_against for pair in pairs_of(page_of(tmp_path, baseline="a"))} == {"a"}
    assert len(pairs_of(page_of(*(tmp_path / ENV / name for name in "abcdef")))) == 15  # all pairs of six


def test_below_six_seeds_no_table_has_an_interval_or_a_p(tmp_path):
    for env in (ENV, "Other-v0"):
        make_cells(tmp_path / "runs", env, {"a": [10, 11], "b": [1, 2]})
    out = write_report(tmp_path / "runs", baseline="b")
    for table in ("tests", "aggregate", "metrics", "scores"):
        hidden = pd.read_csv(out / f"all-runs/{table}.csv").filter(regex="_low$|_high$|^p_|^probability")
        assert hidden.size
        assert hidden.isna().all(axis=None), table


@pytest.mark.parametrize(("names", "seeds", "decided"), [("abcd", 6, True), ("abcde", 6, False), ("abcde", 7, True)])
def test_so_many_seeds_decide_what_the_page_says_that_they_need(tmp_path, names, seeds, decided):
    """Five algorithms of six seeds are ten comparisons: complete separation of six seeds has p of 0.0022 alone."""
    make_cells(tmp_path, ENV, {name: 100.0 * level + np.arange(seeds) for level, name in enumerate(names, 1)})
    pairs = pairs_of(page_of(tmp_path))
    assert {(pair.case, pair.decidable) for pair in pairs} == {(Case.DECIDED if decided else Case.UNDECIDED, decided)}
    if not decided:
        assert "10 tests need 7 seeds per side" in result(pairs)
        assert "the smallest p that they can have is 0.022, level 0.015" in " ".join(details(pairs[0]))


def test_no_p_above_its_level_is_printed_as_the_level(tmp_path):
    """Three of 36 pairs are in the other order: p is 14 / 924, 0.0152."""
    pair = pair_of(tmp_path, [1.0, 2, 3, 4, 5, 9], [6.0, 7, 8, 10, 11, 12])
    assert pair.case == Case.UNDECIDED
    assert pair.p_holm == pytest.approx(14 / 924)
    assert "p = 0.016 of the ranks, level 0.015" in details(pair)[0]


def judged(x, y, **ruling):
    with np.errstate(all="ignore"):
        return judge(x, y, compare(x, y), **ruling)["case"]


def test_p_decides_up_to_the_level():
    x = np.arange(20.0)
    for seeds, level in ((6, 0.015), (9, 0.015), (10, 0.025), (20, 0.025)):
        for p, case in ((level, Case.DECIDED), (1.01 * level, Case.UNDECIDED)):
            assert judged(x[:seeds] + 30, x[:seeds], p=p) == case


def test_a_difference_of_one_margin_is_decided():
    y = np.arange(8.0) + 96.5
    assert [judged(y + gap, y, p=0.0) for gap in (10, 9.99, -10, -9.99)] == [Case.DECIDED, Case.RANKS] * 2


@pytest.mark.parametrize("worst", [math.nan, math.inf, 1e300])
def test_scores_that_are_no_numbers_decide_nothing(worst):
    assert judged(np.array([*range(20, 29), worst]), np.arange(10.0), p=0.0) != Case.DECIDED


@pytest.mark.parametrize(
    ("gap", "tests", "case"),
    [(4.5, 1, Case.EQUIVALENT), (4.5, 3, Case.UNDECIDED), (8.0, 1, Case.UNDECIDED), (-8.0, 1, Case.UNDECIDED)],
)
def test_equivalence_takes_both_edges_of_the_margin_at_the_level_of_the_family(gap, tests, case):
    """Twenty seeds of spread 8 about 100: the standard error of their difference is 2.5."""
    y = 100 + 8 * stats.norm.ppf((np.arange(20) + 0.5) / 20)
    assert judged(y + gap, y, p=1.0, tests=tests) == case
    assert judged(y + gap + 50, y + 50, p=1.0, tests=tests, origin=50.0) == case


# Means, how far the ends of a side are from its mean, and seeds: runs have fallen beyond twice the margin.
SIDES = """
100 20   20 | 100 0    20 | EQUIVALENT
100 20.1 20 | 100 0    20 | UNDECIDED
100 0    20 | 100 20.1 20 | UNDECIDED
100 1    19 | 100 1    20 | UNDECIDED
109 0    20 | 100 0    20 | EQUIVALENT
90  0    20 | 100 0    20 | UNDECIDED
0   0    20 | 0   0    20 | UNDECIDED
"""


@pytest.mark.parametrize(("first", "second", "case"), cells(SIDES))
def test_sides_are_not_equivalent_with_few_seeds_or_where_a_run_has_fallen(first, second, case):
    x, y = (
        np.array([middle - far, middle + far, *[middle] * (int(seeds) - 2)])
        for middle, far, seeds in (map(float, side.split()) for side in (first, second))
    )
    assert judged(x, y, p=1.0) == Case[case]


@pytest.mark.parametrize(("origin", "margin"), [(0.0, 10.0), (-300.0, 40.0), (200.0, 10.0)])
def test_the_margin_is_a_share_of_the_way_from_a_random_policy(origin, margin):
    y = np.linspace(95, 105, 8)
    assert judge(y, y, compare(y, y), p=1.0, origin=origin)["margin"] == pytest.approx(margin)


def test_the_margin_of_successes_is_a_share_of_the_successes(tmp_path):
    for name, successes in (("a", "1 1"), ("b", "1 0"), ("c", ""), ("d", "")):
        for seed in range(6):
            edit_rows(make_run(tmp_path, ENV, name, seed, [-200.0, -100, 1]) / "eval.csv", success=successes)
    pair, *others = pairs_of(page_of(tmp_path, metric="success"))
    assert pair.case == Case.DECIDED
    assert pair.margin == 0.05
    assert [other.name + other.name_against for other in others] == ["ac", "ad", "bc", "bd"]
    assert "6 of 6 seeds of c have no such score" in sentence(others[0])


def test_runs_without_a_budget_are_compared_at_equal_lengths_alone(tmp_path):
    for name, steps in (("a", [0, 500, 1000]), ("b", [0, 500])):
        for seed in range(6):
            folder = make_run(tmp_path, ENV, name, seed, [0, 50 + seed, 100 + seed][: len(steps)], steps=steps)
            edit(folder / "config.toml", f"total_timesteps = {steps[-1]}\n", "")
            edit_json(folder / "status.json", total_timesteps=None)
    (pair,) = pairs_of(page_of(tmp_path))
    assert pair.case == Case.NOT_COMPARABLE
    assert "1k and 500 training steps" in sentence(pair)
