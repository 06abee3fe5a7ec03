"""Published numbers, and runs of others beside ours."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from erlbench.reporting.published import read_published, read_references, returns_at
from erlbench.reporting.scores import references_table, scores_table
from tests.reporting.compare import curves_of, means_of, page_of, rows_of
from tests.reporting.make_runs import make_run

REFERENCE_COLUMNS = ["Reference runs", "P(ours better)"]
LQNEW, AUTHORS = "LQNew: QingLi implementation", "TD3 authors"


def test_numbers_of_the_papers_tables():
    expected = {
        ("AES-RL paper", "Table 1", "Hopper-v2", "AES-RL parallel async W=9", "time_min"): (91, 1_000_000, 10),
        ("AES-RL paper", "Table 2", "Walker2d-v2", "Relative+Adaptive", "std"): (223, 1_000_000, 10),
        ("AES-RL paper", "Table 3", "Walker2d-v2", "ERL", "median"): (2338, 10_000_000, 10),
        # after rows that repeat another one, which are left out
        ("TD3-paper(OurDDPG)", "", "HalfCheetah-v1", "DDPG", "mean"): (8577.3, 1_000_000, 10),
    }
    numbers = {key: read_published()[key] for key in expected}
    assert {key: (number.value, number.steps, number.seeds) for key, number in numbers.items()} == expected


def theirs_at(source, env, algorithm, step):
    (runs,) = [one for one in read_references() if (one.source, one.env, one.algorithm) == (source, env, algorithm)]
    return returns_at(runs, step)


# Means, and sample standard deviations, as recomputed from the sources' raw files.
@pytest.mark.parametrize(
    ("source", "env", "algorithm", "step", "runs", "mean", "std"),
    [
        ("MushroomRL benchmark", "HalfCheetah-v3", "PPO", 990_000, 25, 3442, None),
        ("MushroomRL benchmark", "HalfCheetah-v3", "SAC", 990_000, 25, 9479, None),
        (LQNEW, "HalfCheetah-v2", "TD3", 1_000_000, 8, 9871, 1455),
        (LQNEW, "Humanoid-v2", "PPO", 1_000_000, 8, 443, 46),
        (AUTHORS, "HalfCheetah-v1", "TD3", 1_000_000, 10, 9567, 878),
        ("SimbaV2 collection", "HalfCheetah-v4", "SAC", 1_000_000, 10, 11321, 1108),
    ],
)
def test_returns_are_those_of_the_sources(source, env, algorithm, step, runs, mean, std):
    values = theirs_at(source, env, algorithm, step)
    assert (len(values), round(values.mean())) == (runs, mean)
    assert std in (None, round(values.std(ddof=1)))


def td3_page(folder, returns, steps, **more):
    for seed in range(6):
        make_run(folder, "HalfCheetah-v5", "td3", seed, returns(seed), steps=steps, **more)
    return page_of(folder)


@pytest.fixture
def td3(tmp_path):
    """Six runs of TD3 to 50,000 steps, and their page."""
    return td3_page(tmp_path, lambda seed: [0, 100 * seed, 2000 + 300 * seed], [0, 25_000, 50_000])


def test_table_of_one_cell_by_hand(td3):
    table = references_table(td3)
    records = {record["source"]: record for record in table.records}
    assert list(records) == [LQNEW, AUTHORS, "LQNew: Spinning Up rerun (TF1)", "LQNew: sfujim/TD3 rerun"]
    record = records[AUTHORS]
    theirs = np.array(record["their_scores"].split(), float)
    assert theirs == pytest.approx(theirs_at(AUTHORS, "HalfCheetah-v1", "TD3", 50_000))
    ours = 2000 + 300 * np.arange(6)
    assert (record["mean"], record["std"]) == pytest.approx((2750, ours.std(ddof=1)))
    assert (record["their_runs"], record["steps"]) == (10, 50_000)
    assert record["their_median"] == pytest.approx(np.median(theirs))
    assert record["probability_ours_better"] == pytest.approx(stats.mannwhitneyu(ours, theirs).statistic / 60)
    ranks = stats.mannwhitneyu(ours, theirs).pvalue, stats.brunnermunzel(ours, theirs).pvalue
    assert record["p_rank"] == pytest.approx(max(ranks))
    assert records["LQNew: Spinning Up rerun (TF1)"]["steps"] == 51_999  # the nearest that it has
    assert any("sfujim/TD3, commit 34770cc, on" in note and "TD3: evaluation returns." in note for note in table.notes)


def test_their_curves_are_drawn_over_steps_only(td3):
    figure = curves_of(td3)
    theirs = [[label for label in means_of(figure, axis) if label.startswith("TD3, ")] for axis in figure.paper]
    assert [bool(labels) for labels in theirs] == [True, False]


def test_the_probability_stands_in_the_score_table(td3):
    table = scores_table(td3)
    (record,), (theirs, *_) = table.records, references_table(td3).records
    assert [name for name in table.header if name in REFERENCE_COLUMNS] == REFERENCE_COLUMNS
    runs = theirs_at(LQNEW, "HalfCheetah-v2", "TD3", 50_000)
    wins = stats.mannwhitneyu(2000 + 300 * np.arange(6), runs).statistic / 48
    low, high = (theirs[f"probability_{end}"] for end in ("low", "high"))
    names = [f"reference_probability{end}" for end in ("", "_low", "_high")]
    assert [record[name] for name in names] == pytest.approx([wins, low, high])
    row = rows_of(table)["HalfCheetah-v5, 50k steps", "td3"]
    assert row["P(ours better)"] == f"{wins:.2f} [{low:.2f}, {high:.2f}]"


@pytest.mark.parametrize(
    ("steps", "budget", "step"),
    [
        ([0, 25_000, 30_000], 30_000, 25_000),
        ([0, 25_000, 40_000], 40_000, 25_000),  # although 50,000 is nearer to the budget
        ([0, 50_000, 50_400], 50_000, 50_000),  # 400 steps after the budget, which no printed step shows
    ],
)
def test_scores_are_compared_at_a_step_that_both_have(tmp_path, steps, budget, step):
    """The source has 25,000 and 50,000 steps."""
    make_run(tmp_path, "HalfCheetah-v5", "cem", 0, [0, 10, 20], steps=steps, total=budget)
    page = td3_page(tmp_path, lambda seed: [0, -5000, 9000], steps, total=budget)
    table, record = scores_table(page), references_table(page).records[0]
    td3, cem = (next(row for (_, named), row in rows_of(table).items() if named == name) for name in ("td3", "cem"))
    assert (td3["Mean"], td3["Ours there"]) == ("9,000", "−5,000")
    assert td3["P(ours better)"].startswith("0.00 [0.00, ")
    assert (record["source"], record["steps"], record["mean"]) == (LQNEW, step, -5000)
    assert record["their_mean"] == pytest.approx(theirs_at(LQNEW, "HalfCheetah-v2", "TD3", step).mean())
    assert {cem[name] for name in REFERENCE_COLUMNS} == {"–"}


def test_no_reference_runs_beside_scores_of_another_kind(td3, tmp_path):
    table = scores_table(page_of(tmp_path, metric="area"))
    assert not [name for name in table.header if "Reference" in name or "ours better" in name]
    (record,) = table.records
    assert {value for name, value in record.items() if name.startswith("reference_")} == {None}
