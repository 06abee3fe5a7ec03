"""Tables of scores: numbers by hand, what is bold, and what is said of runs that are missing."""

from __future__ import annotations

import math

import pytest

from erlbench.experiment.study import Entry, Profile
from erlbench.reporting.page_cells import score_page, without_judgement
from erlbench.reporting.scores import metrics_table, scores_table
from tests.reporting.compare import comparison_of, page_of, rows_of
from tests.reporting.make_runs import make_cells, make_run
from tests.reporting.make_studies import make_study

CHEETAH = "HalfCheetah-v5"


@pytest.fixture(scope="module")
def three_seeds(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    make_cells(folder, CHEETAH, {"cem-rl": [100, 200, 300], "aes-rl": [120, 240, 390]}, before=(0, 50))
    make_run(folder, "Walker2d-v5", "cem-rl", 0, [0, 1], total=2000, status="running")
    make_run(folder, "Walker2d-v5", "cem-rl", 1, [0], total=2000, status="failed", message="out of memory")
    return comparison_of(folder)


def texts(row, *names):
    return [row[name] for name in names]


def test_score_table_by_hand_where_missing_cells_are_never_zero(three_seeds):
    rows = rows_of(scores_table(three_seeds))
    assert rows[CHEETAH, "AES-RL"].items() >= {
        "n": "3/3", "Mean": "250.0", "Std": "135.3", "vs CEM-RL": "+25.0 %", "Status": "done",
        "Published": "12,550 ± 187", "Published after (steps)": "1M",
    }.items()  # fmt: skip
    assert rows[CHEETAH, "CEM-RL"]["vs CEM-RL"] == "–"
    cem, aes, sac = (rows["Walker2d-v5", name] for name in ("CEM-RL", "AES-RL", "SAC"))
    assert texts(cem, "n", "Mean", "Std") == ["0/3", "–", "–"]
    assert cem["Status"] == (
        "seed 0 running, 1,000 of 2,000 steps; seed 1 failed, 0 of 2,000 steps (out of memory); 1 not run"
    )
    assert texts(aes, "n", "Mean", "vs CEM-RL", "Status") == ["0/3", "–", "–", "not run"]
    assert texts(sac, "n", "Mean", "Status") == ["–", "–", "not run: not in the suite"]
    assert sac["Published"] == "4,268 ± 435"


def test_metrics_table_by_hand(three_seeds):
    cem = rows_of(metrics_table(three_seeds))[CHEETAH, "CEM-RL"]
    assert texts(cem, "Final", "Final-10", "Max of average") == ["200.0 ± 100.0", "–", "200.0"]
    assert cem["Area under curve"] == "75.0 ± 25.0"  # (25 + (50 + x) / 2) / 2 for x = 100, 200, 300


def test_runs_that_mean_nothing_are_not_judged(three_seeds):
    table = scores_table(without_judgement(three_seeds))
    assert not [name for name in table.header if "vs" in name or "Published" in name or name == "p"]
    assert {cell.style for row in table.cells for cell in row} == {""}
    assert {row[1].text for row in table.cells} == {"CEM-RL", "AES-RL"}


def test_bold_only_after_holm_above_the_margin_and_of_whole_samples(tmp_path):
    returns = {
        "cem-rl": range(100, 110), "aes-rl": range(200, 210), "worse": range(10), "near": range(111, 121),
        "same": [99, 101, 102, 103, 106, 107, 108, 109, 110, 111], "survivors": range(300, 306),
    }  # fmt: skip
    make_cells(tmp_path, CHEETAH, returns)
    for seed in range(6, 10):
        make_run(tmp_path, CHEETAH, "survivors", seed, [0, 0], total=2000, status="failed")
    study = make_study(
        entries=tuple(Entry(name, name, label=name) for name in returns), not_run=(),
        profiles={"p": Profile(tuple(range(10)), 2000, (CHEETAH,))},
    )  # fmt: skip
    table = scores_table(comparison_of(tmp_path, study))
    p_values = {row["name"]: row["p_holm"] for row in table.records}
    assert p_values["aes-rl"] == pytest.approx(5 * 2 / math.comb(20, 10))  # all ten above
    assert p_values["cem-rl"] is None
    assert {cells[1].text: cells[3][:2] for cells in table.cells} == {
        "cem-rl": ("104.5", ""), "aes-rl": ("204.5", "bold"), "worse": ("4.50", "italic"), "same": ("105.6", ""),
        "near": ("115.5", ""),  # 3 % of the way from a random policy
        "survivors": ("302.5", ""),
    }  # fmt: skip
    rows = rows_of(table)
    assert texts(rows[CHEETAH, "near"], "n", "p") == ["10/10", "<0.001"]
    assert texts(rows[CHEETAH, "survivors"], "n", "p") == ["6/10", "<0.001"]


def test_a_column_has_the_mean_at_equal_steps(tmp_path):
    """Of 2,000 steps of the budget AES-RL has learnt from 6,000: a third of its training fits."""
    for seed in range(2):
        make_run(tmp_path, CHEETAH, "cem-rl", seed, [0, 50, 100])
        make_run(tmp_path, CHEETAH, "aes-rl", seed, [0, 40, 80, 200], steps=[0, 600, 700, 2000], fitness=2)
    page = comparison_of(tmp_path)
    rows, names = rows_of(scores_table(page)), ("Mean", "Steps learnt from", "Mean at equal steps")
    assert texts(rows[CHEETAH, "AES-RL"], *names) == ["200.0", "6k", "40.0"]
    assert texts(rows[CHEETAH, "CEM-RL"], *names) == ["100.0", "2k", "–"]
    metrics = rows_of(metrics_table(page))[CHEETAH, "AES-RL"]
    assert texts(metrics, "Fitness steps", "All steps") == ["4k", "14k"]  # with four evaluations of 2,000 steps


def test_another_baseline_and_metric(tmp_path):
    make_cells(tmp_path, CHEETAH, {"a": [10, 10], "b": [20, 20]}, before=(0, 4))
    page = page_of(tmp_path, baseline="a", metric="area")
    row = rows_of(scores_table(page))[f"{CHEETAH}, 2k steps", "b"]
    assert texts(row, "Mean", "vs a") == ["7.00", "+55.6 %"]  # (2 + 12) / 2 against (2 + 7) / 2
    assert score_page(page, baseline="nobody").baseline == "a"


def test_failed_runs_count_by_their_last_score(tmp_path):
    """The means over all runs are equal; those of the finished runs have no mark."""
    for name in ("cem", "td3"):
        make_run(tmp_path, "Foo-v5", name, 0, [0, 10, 0.0], status="failed", total=2000)
        for seed in (1, 2):
            make_run(tmp_path, "Foo-v5", name, seed, [0, 10, 100.0 + seed])
    table = scores_table(page_of(tmp_path, baseline="td3"))
    assert [(row["n"], row["mean"], row["mean_with_failed"]) for row in table.records] == [(2, 101.5, 203 / 3)] * 2
    assert {cells[3].style for cells in table.cells} == {""}
