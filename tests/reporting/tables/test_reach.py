"""The table of steps to a score."""

from __future__ import annotations

import pytest

from erlbench.errors import UsageError
from erlbench.reporting.options import parse_scores
from erlbench.reporting.page_cells import everything
from erlbench.reporting.published import find_thresholds, read_published
from erlbench.reporting.reach import reach_table
from erlbench.reporting.runs import find_runs
from tests.reporting.compare import rows_of
from tests.reporting.make_runs import make_run


def reach(results, *scores):
    """The printed rows by the score."""
    rows = rows_of(reach_table(everything(find_runs([results], pytest.fail)), scores, pytest.fail), names=(2,))
    return {score: row for (score,), row in rows.items()}


def test_steps_to_a_score_by_hand(tmp_path):
    """Four finished runs, of which three reach 41.97 at 2000, 3000 and 1000 steps, and one that is running."""
    for seed, returns in enumerate(([0, 10, 41.97, 80], [0, 10, 20, 50], [0, 60, 20, 10], [0, 5, 5, 5])):
        make_run(tmp_path, "Swimmer-v5", "cem", seed, returns, seconds_per_step=0.06)
    make_run(tmp_path, "Swimmer-v5", "cem", 4, [100], total=3000, status="running")
    rows = reach(tmp_path, 0.0, 21.5, 41.97, 70.0)
    assert rows["41.97"].items() >= {
        "Reached": "3/4", "Median": "2,500", "Mean curve": "–", "Measured minutes": "2.50", "Share": "25 % of TRPO",
        "Published TRPO": "1,040,000", "Published OpenAI-ES": "588,000", "/ TRPO": "–",
        "Status": "seed 4 running, 0 of 3,000 steps",
    }.items()  # fmt: skip
    assert rows["21.5"]["Mean curve"] == "1,508"  # 1000 + 1000 * (21.5 - 21.25) / (21.7425 - 21.25)
    assert [rows["70"][name] for name in ("Reached", "Median", "Mean curve", "Published TRPO")] == [
        "1/4",
        "–",
        "–",
        "–",
    ]
    assert (rows["0"]["Median"], rows["0"]["Measured minutes"]) == ("0", "0.00")


def test_the_ratio_to_whom_the_scores_are(tmp_path):
    make_run(tmp_path, "Swimmer-v5", "cem", 0, [0, 41.97], steps=[0, 520_000])
    row = reach(tmp_path)["41.97"]
    assert (row["Mean curve"], row["/ TRPO"]) == ("520,000", "0.50")


@pytest.mark.parametrize("env", ["HalfCheetah", "Hopper", "InvertedDoublePendulum", "InvertedPendulum", "Swimmer"])
def test_ratios_of_the_published_steps_are_the_published_ratios(env):
    for threshold in find_thresholds(env):
        steps = {number.algorithm: number.value for number in threshold.steps}
        name = f"timestep_ratio_{threshold.percent}pct"
        printed = read_published()["OpenAI-ES paper", "Table 1+3", env, "OpenAI-ES/TRPO", name]
        assert steps["OpenAI-ES"] / steps["TRPO"] == pytest.approx(printed.value, abs=0.02)


def test_scores_to_reach_are_read_or_refused():
    assert [parse_scores(text) for text in ("published", "5, -1e2,5", "0")] == [(), (-100.0, 5.0), (0.0,)]
    for text in ("", ",", "results", "nan", "1,inf", "published,3"):
        with pytest.raises(UsageError, match="--reach"):
            parse_scores(text)
