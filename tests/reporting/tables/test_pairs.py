from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from erlbench.reporting.pairs import compare_pairs, pairs_table
from erlbench.reporting.published import random_score
from erlbench.reporting.scores import metrics_table, scores_table
from erlbench.reporting.significance import RANK_EFFICIENCY, compare, holm, welch_power
from erlbench.reporting.words import result
from tests.reporting.compare import page_of, pairs_of
from tests.reporting.make_runs import make_run

SCORES = {
    "HalfCheetah-v5": {
        "a": [100, 130, 120, 110, 90, 106, 107, 108],
        "b": [150, 160, 140, 155, 145, 151, 152, 149],
        "c": [100.5, 131, 119, 111, 92, 103, 104, 105],
    },
    "Hopper-v5": {
        "a": [1, 2, 3, 4, 5, 2.1, 3.1, 4.2],
        "b": [2.5, 3.5, 4.5, 5.5, 6.5, 3.7, 4.7, 5.7],
        "c": [9, 8, 7, 6, 5.3, 8.2, 7.2, 6.2],
    },
}


def page(tmp_path, status_of=None, **options):
    for env, algorithms in SCORES.items():
        for name, scores in algorithms.items():
            for seed, score in enumerate(scores):
                status = (status_of or {}).get(name, {}).get(seed, "done")
                make_run(tmp_path, env, name, seed, [10, 20, score], status=status)
    return page_of(tmp_path, **options)


def table_of(comparison):
    return pairs_table(comparison, compare_pairs(comparison))


def records(table):
    return {(record["env"], record["algorithm"], record["against"]): record for record in table.records}


def test_each_pair_of_own_runs_is_tested_beside_scipy(tmp_path):
    found = records(table_of(page(tmp_path)))
    assert len(found) == 6
    raw = []
    for (env, one, two), record in found.items():
        x, y = np.array(SCORES[env][one], float), np.array(SCORES[env][two], float)
        interval = stats.ttest_ind(x, y, equal_var=False).confidence_interval()
        assert record["difference"] == pytest.approx(x.mean() - y.mean())
        assert (record["difference_low"], record["difference_high"]) == pytest.approx((interval.low, interval.high))
        assert record["probability_better"] == pytest.approx(stats.mannwhitneyu(x, y).statistic / 64)
        assert record["iqm"] == pytest.approx(stats.trim_mean(x, 0.25))
        limit = np.sqrt(7 / stats.chi2.ppf(0.2, 7))  # of the spread, with 80 % confidence
        spreads = limit * x.std(ddof=1), limit * y.std(ddof=1)
        seeds, level = 8 * RANK_EFFICIENCY, 0.015 / 6
        assert welch_power(record["detectable_difference"], *spreads, seeds, seeds, level=level) == pytest.approx(0.8)
        apart = x.max() < y.min() or y.max() < x.min()
        ranks = max(stats.mannwhitneyu(x, y).pvalue, 0 if apart else stats.brunnermunzel(x, y).pvalue)
        assert record["p_rank"] == pytest.approx(ranks)
        raw.append(ranks)
        small = abs(x.mean() - y.mean()) < 0.1 * abs(y.mean() - random_score(env))
        differs = "small difference" if small else "decided"
        assert record["case"] == (differs if record["p_holm"] < 0.015 else "undecided")
    assert {record["case"] for record in found.values()} >= {"decided", "undecided"}
    assert min(record["p_holm"] for record in found.values()) == pytest.approx(6 * min(raw))


def test_of_many_algorithms_the_best_one_is_compared_with_the_rest_and_all_pairs_count(tmp_path):
    """A page of more than six had no comparison and no sentence."""
    for number, name in enumerate("abcdefgh"):
        for seed in range(2 if name == "h" else 10):
            make_run(tmp_path, "Hopper-v5", name, seed, [0, 20 * number + seed + 0.1 * number])
    comparison = page_of(tmp_path)
    pairs = pairs_of(comparison)
    assert {pair.name for pair in pairs} == {"g"}  # h has a higher mean, of two seeds
    assert [pair.name_against for pair in pairs] == [*"abcdef", "h"]
    assert {pair.tests for pair in pairs} == {21}
    every = list(combinations(comparison.rows, 2))
    differences = [compare(one.scores, two.scores) for one, two in every]
    by_hand = holm(*([found[name] for found in differences] for name in ("p_rank", "level")))
    wanted = {one.name: p for (one, two), p in zip(every, by_hand, strict=True) if two.name == "g"}
    assert {pair.name_against: pair.p_holm for pair in pairs if pair.name_against != "h"} == pytest.approx(wanted)
    notes = " ".join(table_of(comparison).notes)
    assert "(21 in all)" in notes
    assert "the pairs of the one with the highest mean" in notes
    assert result(pairs).endswith("on Hopper-v5; 1 comparison has too few seeds.")
    assert {pair.name_against for pair in pairs_of(page_of(tmp_path, baseline="a"))} == {"a"}


def test_too_few_runs_have_a_difference_and_no_test(tmp_path):
    for seed, (one, two) in enumerate([(1, 2), (2, 4), (3, 7)]):
        make_run(tmp_path, "Hopper-v5", "a", seed, [0, one])
        make_run(tmp_path, "Hopper-v5", "b", seed, [0, two])
    table = table_of(page_of(tmp_path))
    (record,) = table.records
    assert record["p_holm"] is None
    assert record["p_rank"] is record["probability_better"] is record["difference_low"] is None
    assert record["case"] == "too few"
    assert record["detectable_difference"] is None
    assert record["difference"] == pytest.approx(2 - 13 / 3)
    assert table.cells[0][table.header.index("p")].text == "–"


def test_a_column_has_the_mean_with_failed_runs(tmp_path):
    comparison = page(tmp_path, {"a": {0: "failed", 1: "failed"}}, baseline="b")
    table = scores_table(comparison)
    rows = {record["algorithm"]: record for record in table.records if record["env"] == "HalfCheetah-v5"}
    left = SCORES["HalfCheetah-v5"]["a"][2:]
    assert (rows["a"]["n"], rows["a"]["mean"]) == (6, pytest.approx(np.mean(left)))
    assert rows["a"]["mean_with_failed"] == pytest.approx(np.mean([*left, 100, 130]))
    assert rows["b"]["mean_with_failed"] is None


def test_intervals_of_the_mean_and_of_runs(tmp_path):
    table = metrics_table(page(tmp_path))
    record = next(r for r in table.records if (r["env"], r["name"]) == ("HalfCheetah-v5", "a"))
    x = np.array(SCORES["HalfCheetah-v5"]["a"], float)
    theirs = stats.ttest_1samp(x, 0).confidence_interval(0.95)
    assert (record["final_low"], record["final_high"]) == pytest.approx((theirs.low, theirs.high))
    # Howe's factor of two-sided tolerance limits for n = 8, 90 % of runs, 95 % confidence, as tabulated: 3.136
    assert record["tolerance_high"] - x.mean() == pytest.approx(3.136 * x.std(ddof=1), rel=1e-3)
    assert record["relative_std"] == pytest.approx(x.std(ddof=1) / abs(x.mean()))
    assert any("at least 53 % of all runs lie between the lowest and the highest of 8 runs" in n for n in table.notes)
