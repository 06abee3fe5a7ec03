"""Tables of scores: numbers by hand, what is bold, and what is said of runs that are missing."""

from __future__ import annotations

import math

import pytest

from erlbench.experiment.study import Entry, Profile
from erlbench.reporting.page_cells import score_page, without_judgement
from erlbench.reporting.pairs import aggregate_table
from erlbench.reporting.scores import metrics_table, scores_table
from tests.reporting.compare import comparison_of, page_of, rows_of
from tests.reporting.make_runs import make_run
from tests.reporting.make_studies import make_study


@pytest.fixture
def three_seeds(tmp_path):
    for seed, (cem, aes) in enumerate([(100, 120), (200, 240), (300, 390)]):
        make_run(tmp_path, "HalfCheetah-v5", "cem-rl", seed, [0, 50, cem])
        make_run(tmp_path, "HalfCheetah-v5", "aes-rl", seed, [0, 50, aes])
    make_run(tmp_path, "Walker2d-v5", "cem-rl", 0, [0, 1], total=2000, status="running")
    make_run(tmp_path, "Walker2d-v5", "cem-rl", 1, [0], total=2000, status="failed", message="out of memory")
    return tmp_path


def test_score_table_by_hand(three_seeds):
    table = scores_table(comparison_of(three_seeds))
    rows = rows_of(table)
    aes = rows["HalfCheetah-v5", "AES-RL"]
    assert aes["n"] == "3/3"
    assert aes["Mean"] == "250.0"
    assert aes["Std"] == "135.3"  # sqrt((130^2 + 10^2 + 140^2) / 2)
    assert aes["vs CEM-RL"] == "+25.0 %"
    assert aes["Status"] == "done"
    assert aes["Published"] == "12,550 ± 187"
    assert aes["Published after (steps)"] == "1M"
    assert rows["HalfCheetah-v5", "CEM-RL"]["vs CEM-RL"] == "–"


def test_missing_cells_are_never_zero(three_seeds):
    rows = rows_of(scores_table(comparison_of(three_seeds)))
    cem, aes, sac = (rows["Walker2d-v5", name] for name in ("CEM-RL", "AES-RL", "SAC"))
    assert (cem["n"], cem["Mean"], cem["Std"]) == ("0/3", "–", "–")
    assert cem["Status"] == (
        "seed 0 running, 1,000 of 2,000 steps; seed 1 failed, 0 of 2,000 steps (out of memory); 1 not run"
    )
    assert (aes["n"], aes["Mean"], aes["vs CEM-RL"], aes["Status"]) == ("0/3", "–", "–", "not run")
    assert (sac["n"], sac["Mean"], sac["Status"]) == ("–", "–", "not run: not in the suite")
    assert sac["Published"] == "4,268 ± 435"


def test_bold_only_after_holm(tmp_path):
    returns = {
        "cem-rl": range(100, 110), "aes-rl": range(200, 210), "worse": range(10), "near": range(111, 121),
        "same": [99, 101, 102, 103, 106, 107, 108, 109, 110, 111],
    }  # fmt: skip
    for name, values in returns.items():
        for seed, value in enumerate(values):
            make_run(tmp_path, "HalfCheetah-v5", name, seed, [0, 1, value])
    study = make_study(
        entries=tuple(Entry(name, name, label=name) for name in returns), not_run=(),
        profiles={"p": Profile(tuple(range(10)), 2000, ("HalfCheetah-v5",))},
    )  # fmt: skip
    comparison = comparison_of(tmp_path, study)
    p_values = {row["name"]: row["p_holm"] for row in scores_table(comparison).records}
    assert p_values["aes-rl"] == pytest.approx(4 * 2 / math.comb(20, 10))  # all ten above
    assert p_values["cem-rl"] is None
    rows = rows_of(scores_table(comparison))
    assert rows["HalfCheetah-v5", "worse"]["Mean"] == "4.50"
    styles = {cells[1].text: cells[3][:2] for cells in scores_table(comparison).cells}
    assert styles["aes-rl"] == ("204.5", "bold")
    assert styles["worse"] == ("4.50", "italic")
    assert styles["near"] == ("115.5", "")  # 3 % of the way from a random policy
    assert styles["same"] == ("105.6", "")
    assert rows["HalfCheetah-v5", "aes-rl"]["p"] == "<0.001"


def test_a_difference_below_the_margin_is_not_marked(tmp_path):
    table = scores_table(study_of(tmp_path, range(1000, 1010), range(1010, 1020), 10))
    assert rows_of(table)["HalfCheetah-v5", "AES-RL"]["p"] == "<0.001"
    assert {cells[1].text: cells[3].style for cells in table.cells}["AES-RL"] == ""


def study_of(tmp_path, base, other, seeds, failed=()):
    """Two algorithms with scores by seed, on a page of CEM-RL's; the seeds `failed` of the second did not finish."""
    for seed in range(seeds):
        make_run(tmp_path, "HalfCheetah-v5", "cem-rl", seed, [0, 0, base[seed]])
        status = "failed" if seed in failed else "done"
        make_run(tmp_path, "HalfCheetah-v5", "aes-rl", seed, [0, 0, other[seed]], total=2000, status=status)
    study = make_study(profiles={"smoke": Profile(tuple(range(seeds)), 2000, ("HalfCheetah-v5",))})
    return comparison_of(tmp_path, study)


def test_survivors_are_not_marked(tmp_path):
    scores = [100 + seed % 3 for seed in range(10)]
    comparison = study_of(tmp_path, scores, [3 * s for s in scores], 10, failed=range(4))
    table = scores_table(comparison)
    row = rows_of(table)["HalfCheetah-v5", "AES-RL"]
    assert (row["n"], row["p"]) == ("6/10", "0.001")
    assert {cells[1].text: cells[3].style for cells in table.cells}["AES-RL"] == ""


def test_a_column_has_the_mean_at_equal_steps(tmp_path):
    """Of 2,000 steps of the budget AES-RL has learnt from 6,000: a third of its training fits."""
    for seed in range(2):
        make_run(tmp_path, "HalfCheetah-v5", "cem-rl", seed, [0, 50, 100])
        make_run(tmp_path, "HalfCheetah-v5", "aes-rl", seed, [0, 40, 80, 200], steps=[0, 600, 700, 2000], fitness=2)
    table = scores_table(comparison_of(tmp_path))
    rows = rows_of(table)
    aes, cem = (rows["HalfCheetah-v5", name] for name in ("AES-RL", "CEM-RL"))
    assert (aes["Mean"], aes["Steps learnt from"], aes["Mean at equal steps"]) == ("200.0", "6k", "40.0")
    assert (cem["Mean"], cem["Steps learnt from"], cem["Mean at equal steps"]) == ("100.0", "2k", "–")
    metrics = rows_of(metrics_table(comparison_of(tmp_path)))["HalfCheetah-v5", "AES-RL"]
    assert (metrics["Fitness steps"], metrics["All steps"]) == ("4k", "14k")  # with four evaluations of 2,000 steps


def test_metrics_table_by_hand(three_seeds):
    rows = rows_of(metrics_table(comparison_of(three_seeds)))
    cem = rows["HalfCheetah-v5", "CEM-RL"]
    assert cem["Final"] == "200.0 ± 100.0"
    assert cem["Final-10"] == "–"
    assert cem["Max of average"] == "200.0"
    assert cem["Area under curve"] == "75.0 ± 25.0"  # (25 + (50 + x) / 2) / 2 for x = 100, 200, 300


def test_all_environments_by_hand(tmp_path):
    for env, scale in (("HalfCheetah-v5", 1), ("Walker2d-v5", 10)):
        for seed, (cem, aes) in enumerate([(1, 2), (3, 4), (2, 3), (2, 3), (2, 3), (2, 3)]):
            make_run(tmp_path, env, "cem-rl", seed, [0, 0, scale * cem])
            make_run(tmp_path, env, "aes-rl", seed, [0, 0, scale * aes])
    seeds = {"p": Profile(tuple(range(6)), 2000, ("HalfCheetah-v5", "Walker2d-v5"))}
    comparison = comparison_of(tmp_path, make_study(profiles=seeds))
    table = aggregate_table(comparison)
    assert table is not None
    record = next(record for record in table.records if record["name"] == "aes-rl")
    # of 36 pairs: 2 against 1, 3, 2, 2, 2, 2: 3; 4 against all: 6; four times 3: 5.5 each
    assert record["probability_of_improvement"] == pytest.approx((3 + 6 + 4 * 5.5) / 36)
    assert record["probability_low"] < record["probability_of_improvement"] < record["probability_high"]


def test_another_baseline_and_metric(tmp_path):
    for name, last in (("a", 10), ("b", 20)):
        for seed in range(2):
            make_run(tmp_path, "HalfCheetah-v5", name, seed, [0, 4, last])
    page = page_of(tmp_path, baseline="a", metric="area")
    rows = rows_of(scores_table(page))
    assert rows["HalfCheetah-v5, 2k steps", "b"]["Mean"] == "7.00"  # (2 + 12) / 2
    assert rows["HalfCheetah-v5, 2k steps", "b"]["vs a"] == "+55.6 %"  # against (2 + 7) / 2
    assert score_page(page, baseline="nobody").baseline == "a"


def test_runs_that_mean_nothing_are_not_judged(three_seeds):
    page = without_judgement(comparison_of(three_seeds))
    table = scores_table(page)
    assert not [name for name in table.header if "vs" in name or "Published" in name or name == "p"]
    assert {cell.style for row in table.cells for cell in row} == {""}
    assert {row[1].text for row in table.cells} == {"CEM-RL", "AES-RL"}


def test_failed_runs_count_by_their_last_score(tmp_path):
    """The means over all runs are equal; those of the finished runs have no mark."""
    for name in ("cem", "td3"):
        make_run(tmp_path, "Foo-v5", name, 0, [0, 10, 0.0], status="failed", total=2000)
        for seed in (1, 2):
            make_run(tmp_path, "Foo-v5", name, seed, [0, 10, 100.0 + seed])
    page = page_of(tmp_path, baseline="td3")
    table = scores_table(page)
    assert [row["mean_with_failed"] for row in table.records] == [203 / 3, 203 / 3]
    assert {cells[3].style for cells in table.cells} == {""}
