"""The table of steps to a score."""

from __future__ import annotations

import pytest

from erlbench.errors import UsageError
from erlbench.reporting.options import parse_scores
from erlbench.reporting.page_cells import everything
from erlbench.reporting.published import find_thresholds, read_published
from erlbench.reporting.reach import reach_table
from erlbench.reporting.runs import find_runs
from tests.reporting.make_runs import make_run


def table_of(results, scores, warn=pytest.fail):
    return reach_table(everything(find_runs([results], warn)), scores, warn)


def rows_of(table):
    printed = [[cell.text for cell in row] for row in table.cells]
    return {(row[1], row[2]): dict(zip(table.header, row, strict=True)) for row in printed}


@pytest.fixture
def swimmers(tmp_path):
    """Four finished runs, of which three reach 41.97 at 2000, 3000 and 1000 steps, and one that is running."""
    for seed, returns in enumerate(([0, 10, 41.97, 80], [0, 10, 20, 50], [0, 60, 20, 10], [0, 5, 5, 5])):
        make_run(tmp_path, "Swimmer-v5", "cem", seed, returns, seconds_per_step=0.06)
    make_run(tmp_path, "Swimmer-v5", "cem", 4, [100], total=3000, status="running")
    return tmp_path


def test_steps_to_a_score_by_hand(swimmers):
    row = rows_of(table_of(swimmers, (41.97,)))["cem", "41.97"]
    assert row["Reached"] == "3/4"  # the running run does not count
    assert row["Median"] == "2,500"  # of 1000, 2000, 3000, never
    assert row["Mean curve"] == "–"  # the averages are 0, 21.25, 21.7, 36.25
    assert row["Measured minutes"] == "2.50"
    assert "Modelled minutes" not in row
    assert row["Share"] == "25 % of TRPO"
    assert (row["Published TRPO"], row["Published OpenAI-ES"]) == ("1,040,000", "588,000")
    assert row["/ TRPO"] == "–"
    assert row["Status"] == "seed 4 running, 0 of 3,000 steps"


def test_the_ratio_to_whom_the_scores_are(tmp_path):
    make_run(tmp_path, "Swimmer-v5", "cem", 0, [0, 41.97], steps=[0, 520_000])
    row = rows_of(table_of(tmp_path, ()))["cem", "41.97"]
    assert (row["Mean curve"], row["/ TRPO"]) == ("520,000", "0.50")


@pytest.mark.parametrize("env", ["HalfCheetah", "Hopper", "InvertedDoublePendulum", "InvertedPendulum", "Swimmer"])
def test_ratios_of_the_published_steps_are_the_published_ratios(env):
    for threshold in find_thresholds(env):
        steps = {number.algorithm: number.value for number in threshold.steps}
        name = f"timestep_ratio_{threshold.percent}pct"
        printed = read_published()["OpenAI-ES paper", "Table 1+3", env, "OpenAI-ES/TRPO", name]
        assert steps["OpenAI-ES"] / steps["TRPO"] == pytest.approx(printed.value, abs=0.02)


def test_the_mean_curve_and_a_median_that_never_came(swimmers):
    rows = rows_of(table_of(swimmers, (21.5, 70.0)))
    assert rows["cem", "21.5"]["Mean curve"] == "1,508"  # 1000 + 1000 * (21.5 - 21.25) / (21.7425 - 21.25)
    never = rows["cem", "70"]
    assert (never["Reached"], never["Median"], never["Mean curve"]) == ("1/4", "–", "–")
    assert "Published TRPO" not in never  # nothing is published on 70


def test_a_first_evaluation_above_the_score_took_no_step(tmp_path):
    make_run(tmp_path, "Ant-v5", "cem", 0, [5, 4])
    row = rows_of(table_of(tmp_path, (5.0,)))["cem", "5"]
    assert (row["Median"], row["Measured minutes"]) == ("0", "0.00")


@pytest.mark.parametrize(
    ("text", "scores"), [("published", ()), ("3", (3.0,)), ("5, -1e2,5", (-100.0, 5.0)), ("0", (0.0,))]
)
def test_scores_to_reach_are_read(text, scores):
    assert parse_scores(text) == scores


@pytest.mark.parametrize("text", ["", ",", "results", "nan", "1,inf", "published,3"])
def test_what_is_no_score_to_reach_is_refused(text):
    with pytest.raises(UsageError, match="--reach"):
        parse_scores(text)
