"""Stored and simulated runs with the verdicts that they must give, in the terminal, on the page and in verdict.json."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from erlbench.cli import cli
from erlbench.reporting import build_report
from erlbench.reporting.options import ReportOptions
from erlbench.reporting.significance import Case, unseen_failures
from erlbench.reporting.words import details, order, pair_values, result, select_spoken, sentence
from tests.reporting.compare import page_of, pairs_of
from tests.reporting.make_runs import make_run

RNG = np.random.default_rng(0)
NORMAL = 100 + 3 * RNG.normal(size=(2, 20))
SCORES = {  # of a and b, and the case
    "clear": ([140.0, 150, 145, 160, 148, 151, 149], [100.0, 110, 90, 105, 95, 99, 98], Case.DECIDED),
    "separate, skewed": (
        [-1.0, -2.0, -3.0, -4.0, -5.0, -6.0],
        [-50.0, -200.0, -900.0, -1500.0, -400.0, -70.0],
        Case.DECIDED,
    ),
    "small": (100 + 0.1 * np.arange(10), 99 - 0.1 * np.arange(10), Case.SMALL),
    "overlapping": ([100.0, 120, 90, 130, 80, 104, 103], [105.0, 95, 125, 85, 110, 99, 98], Case.UNDECIDED),
    "alike, many": (NORMAL[0], NORMAL[1], Case.EQUIVALENT),
    "alike, few": (NORMAL[0, :10], NORMAL[1, :10], Case.UNDECIDED),
    "alike, one failed to learn": ([5.0, *NORMAL[0, 1:]], NORMAL[1], Case.UNDECIDED),
    "far apart, five": ([140.0, 150.0, 145.0, 160.0, 155.0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], Case.TOO_FEW),
    "one each": ([140.0], [1.0], Case.TOO_FEW),
}


def runs(folder, a, b, **more):
    for name, scores in (("a", a), ("b", b)):
        for seed, score in enumerate(scores):
            make_run(folder, "Mine-v0", name, seed, [0, 0, score], **more)


@pytest.mark.parametrize("what", SCORES)
def test_each_case(tmp_path, what):
    a, b, case = SCORES[what]
    runs(tmp_path, a, b)
    (found,) = pairs_of(page_of(tmp_path))
    assert found.case == case
    said = sentence(found)
    titles = {Case.TOO_FEW: "Undecided, too few seeds", Case.SMALL: "Higher by less than 10 %"}
    assert said.startswith(titles.get(case, case.capitalize()))
    if case in (Case.DECIDED, Case.SMALL):
        assert [side.name for side in order(found)] == ["a", "b"]
        assert "(P = 1.00 [" in said
    if case == Case.TOO_FEW:
        behind = " ".join([said, *details(found)])
        assert " p " not in behind
        assert "interval" not in behind
        few = "No comparison can be decided: 1 comparison has too few seeds; a test needs 6 seeds per side."
        assert result([found]) == few
        assert found.seeds_missing == 6 - min(len(a), len(b))


def test_failed_runs_are_a_selection_and_compare_with_nothing(tmp_path):
    runs(tmp_path, *SCORES["clear"][:2])
    make_run(tmp_path, "Mine-v0", "a", 9, [0, 0, 1], status="failed")
    (found,) = pairs_of(page_of(tmp_path))
    assert (found.case, pair_values(found)["outcome"]) == (Case.NOT_COMPARABLE, None)
    assert found.reason.startswith("1 of 8 runs of a failed")
    assert found.reason in sentence(found)


def test_steps_that_the_budget_does_not_count_are_said_with_both_scores_at_as_many(tmp_path):
    for seed in range(6):
        make_run(tmp_path, "Mine-v0", "a", seed, [10 * i + seed for i in range(11)], fitness=4)
        make_run(tmp_path, "Mine-v0", "b", seed, [8 * i + seed for i in range(11)])
    (found,) = pairs_of(page_of(tmp_path))
    assert found.equal_steps == (pytest.approx(18.5), pytest.approx(66.5))  # 1,600 of 8,000 steps, in the mean
    assert "a used 5.0 times the simulator steps" in sentence(found)


def test_failures_that_so_many_seeds_can_miss():
    for seeds in (6, 10, 20):
        assert (1 - unseen_failures(seeds)) ** seeds == pytest.approx(0.05)


def test_one_sentence_over_all_comparisons_names_what_is_decided_and_counts_the_rest(tmp_path):
    for env, a, b in (("One-v0", *SCORES["clear"][:2]), ("Two-v0", *SCORES["clear"][:2]),
                      ("Three-v0", *SCORES["one each"][:2]), ("Four-v0", *SCORES["overlapping"][:2])):  # fmt: skip
        for name, scores in (("a", a), ("b", b)):
            for seed, score in enumerate(scores):
                make_run(tmp_path, env, name, seed, [0, 0, score])
    found = pairs_of(page_of(tmp_path))
    assert result(found) == (
        "Runs of a score higher than runs of b on One-v0 and Two-v0; 1 comparison is undecided and 1 has too few seeds."
    )
    assert result([]) == ""
    spoken = [found[i] for i in select_spoken([one.case for one in found])]
    assert [one.env for one in spoken] == ["One-v0", "Two-v0", "Four-v0"]


def test_pairs_with_too_few_seeds_have_one_sentence_together(tmp_path):
    for name in "abcd":
        for seed in range(2):
            make_run(tmp_path / "runs", "Mine-v0", name, seed, [0, 0, 10 * seed + ord(name)])
    output = CliRunner().invoke(cli, ["report", str(tmp_path / "runs"), "--out", str(tmp_path / "out")]).stdout
    page = (tmp_path / "out/all-runs/index.md").read_text(encoding="utf-8")
    few = "No comparison can be decided: 6 comparisons have too few seeds; a test needs 6 seeds per side."
    for text in (page, " ".join(output.split())):
        assert text.count("too few seeds") == text.count(few) == 1


def test_the_terminal_the_page_and_the_file_say_the_same(tmp_path):
    runs(tmp_path / "runs", *SCORES["clear"][:2])
    out = tmp_path / "out"
    done = CliRunner().invoke(cli, ["report", str(tmp_path / "runs"), "--out", str(out)])
    assert done.exit_code == 0, done.output
    (one,) = json.loads((out / "verdict.json").read_text())["verdicts"]["all-runs"]
    assert one["case"] == "decided"
    assert one["first"]["scores"] == SCORES["clear"][0]
    assert one["outcome"]["p"] == pytest.approx(2 / math.comb(14, 7))  # all of one side above the other
    printed = " ".join(done.stdout.split())
    page = (out / "all-runs" / "index.md").read_text().replace("\\", "")
    for said in (one["sentence"], *one["details"]):
        assert said in printed
        assert said in page
    (row,) = pd.read_csv(out / "all-runs" / "tests.csv").to_dict("records")
    assert (row["case"], row["p_holm"]) == ("decided", pytest.approx(one["outcome"]["p"]))


def test_below_six_seeds_no_table_has_an_interval_or_a_p(tmp_path):
    """The page of two seeds and two environments had P(better) of 1.00 [1.00, 1.00]."""
    for env, seed in ((env, seed) for env in ("Mine-v0", "Own-v0") for seed in range(2)):
        for name, score in (("a", 10 + seed), ("b", 1 + seed)):
            make_run(tmp_path / "runs", env, name, seed, [0, 0, score])
    build_report([tmp_path / "runs"], tmp_path / "out", {}, None, lambda _: None, ReportOptions(baseline="b"))
    for table in ("tests", "aggregate", "metrics", "scores"):
        columns = pd.read_csv(tmp_path / "out" / "all-runs" / f"{table}.csv")
        hidden = [c for c in columns if c.endswith(("_low", "_high")) or c.startswith(("p_", "probability"))]
        assert hidden
        assert columns[hidden].isna().all(axis=None), table


def test_no_seed_is_missing_where_those_there_would_show_the_margin(tmp_path):
    """Ten seeds whose spread is a thousandth of the margin are undecided, and more of them are not asked for."""
    scores = [100 + 0.01 * seed for seed in range(10)]
    runs(tmp_path, scores, [score + 0.001 for score in scores])
    (found,) = pairs_of(page_of(tmp_path))
    assert (found.case, found.seeds_missing) == (Case.UNDECIDED, 0)
    assert not [line for line in details(found) if "more seed" in line]
