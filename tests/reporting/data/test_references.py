from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from erlbench.reporting.published import read_references, returns_at
from erlbench.reporting.scores import references_table, scores_table
from tests.reporting.compare import page_of, rows_of
from tests.reporting.make_runs import make_run


@pytest.fixture(scope="module")
def references():
    return read_references()


def of(references, source, env, algorithm):
    (found,) = [one for one in references if (one.source, one.env, one.algorithm) == (source, env, algorithm)]
    return found


def test_the_runs_of_mushroomrl_are_25_seeds_with_their_caveat(references):
    """Means at 990,000 steps on HalfCheetah-v3, recomputed from the files of their repository."""
    published = {"A2C": 552, "DDPG": 1381, "PPO": 3442, "SAC": 9479, "TD3": 6437, "TRPO": 3721}
    for algorithm, mean in published.items():
        found = of(references, "MushroomRL benchmark", "HalfCheetah-v3", algorithm)
        assert len(found.runs) == 25
        assert returns_at(found, 990_000).mean() == pytest.approx(mean, abs=0.5)
        assert "with the behaviour policy" in found.returns


# Means ± sample standard deviations at 1e6 steps, as recomputed from the sources' raw files.
@pytest.mark.parametrize(
    ("source", "env", "algorithm", "runs", "expected"),
    [
        ("LQNew: QingLi implementation", "HalfCheetah-v2", "TD3", 8, (9871, 1455)),
        ("LQNew: QingLi implementation", "HalfCheetah-v2", "SAC", 8, (11010, 705)),
        ("LQNew: QingLi implementation", "Humanoid-v2", "PPO", 8, (443, 46)),
        ("TD3 authors", "HalfCheetah-v1", "TD3", 10, (9567, 878)),
        ("SimbaV2 collection", "HalfCheetah-v4", "SAC", 10, (11321, 1108)),
    ],
)
def test_final_values_are_those_of_the_sources(references, source, env, algorithm, runs, expected):
    values = returns_at(of(references, source, env, algorithm), 1_000_000)
    assert len(values) == runs
    assert (round(values.mean()), round(values.std(ddof=1))) == expected


@pytest.fixture
def td3(tmp_path):
    """Six runs of TD3 to 50,000 steps, and their page."""
    steps = [0, 25_000, 50_000]
    for seed in range(6):
        make_run(tmp_path, "HalfCheetah-v5", "td3", seed, [0, 100 * seed, 2000 + 300 * seed], steps=steps)
    return page_of(tmp_path)


def test_table_of_one_cell_by_hand(td3, references):
    table = references_table(td3)
    records = {record["source"]: record for record in table.records}
    assert list(records) == [
        "LQNew: QingLi implementation", "TD3 authors", "LQNew: Spinning Up rerun (TF1)", "LQNew: sfujim/TD3 rerun",
    ]  # fmt: skip
    record = records["TD3 authors"]
    theirs = np.array(record["their_scores"].split(), float)
    assert theirs == pytest.approx(returns_at(of(references, "TD3 authors", "HalfCheetah-v1", "TD3"), 50_000))
    ours = 2000 + 300 * np.arange(6)
    assert (record["mean"], record["std"]) == pytest.approx((2750, ours.std(ddof=1)))
    assert (record["their_runs"], record["steps"]) == (10, 50_000)
    assert record["their_median"] == pytest.approx(np.median(theirs))
    assert record["probability_ours_better"] == pytest.approx(stats.mannwhitneyu(ours, theirs).statistic / 60)
    ranks = stats.mannwhitneyu(ours, theirs).pvalue, stats.brunnermunzel(ours, theirs).pvalue
    assert record["p_rank"] == pytest.approx(max(ranks))
    assert records["LQNew: Spinning Up rerun (TF1)"]["steps"] == 51_999  # the nearest that it has
    assert any("sfujim/TD3, commit 34770cc, on" in note and "TD3: evaluation returns." in note for note in table.notes)


REFERENCE_COLUMNS = ["Reference runs", "P(ours better)"]


def test_the_probability_stands_in_the_score_table(td3, references):
    table = scores_table(td3)
    (record,), (theirs, *_) = table.records, references_table(td3).records
    assert [name for name in table.header if name in REFERENCE_COLUMNS] == REFERENCE_COLUMNS
    runs = returns_at(of(references, "LQNew: QingLi implementation", "HalfCheetah-v2", "TD3"), 50_000)
    wins = stats.mannwhitneyu(2000 + 300 * np.arange(6), runs).statistic / 48
    assert record["reference_probability"] == pytest.approx(wins)
    names = ("probability_ours_better", "probability_low", "probability_high")
    found = [record[f"reference_{name}"] for name in ("probability", "probability_low", "probability_high")]
    assert found == [theirs[name] for name in names]
    row = rows_of(table)["HalfCheetah-v5, 50k steps", "td3"]
    assert row["P(ours better)"] == f"{wins:.2f} [{found[1]:.2f}, {found[2]:.2f}]"


def test_scores_at_another_step_than_the_budget_are_compared(tmp_path):
    """The source has 25,000 and 50,000 steps, our runs end at 30,000: ours of 25,000 are compared."""
    steps = [0, 25_000, 30_000]
    for seed in range(6):
        make_run(tmp_path, "HalfCheetah-v5", "td3", seed, [0, -5000, 9000], steps=steps)
        make_run(tmp_path, "HalfCheetah-v5", "cem", seed, [0, 10, 20], steps=steps)
    table = scores_table(page_of(tmp_path))
    rows = rows_of(table)
    td3, cem = (rows["HalfCheetah-v5, 30k steps", name] for name in ("td3", "cem"))
    assert (td3["Mean"], td3["Ours there"]) == ("9,000", "−5,000")
    assert td3["P(ours better)"].startswith("0.00 [0.00, ")
    assert {cem[name] for name in REFERENCE_COLUMNS} == {"–"}
    record = next(record for record in table.records if record["name"] == "cem")
    assert {value for name, value in record.items() if name.startswith("reference_")} == {None}


def test_a_common_step_is_found_although_a_nearer_one_is_not_common(tmp_path, references):
    """Their points are 25,000 and 50,000; our runs end at 40,000, nearer to the second, and have the first."""
    for seed in range(3):
        make_run(tmp_path, "HalfCheetah-v5", "td3", seed, [0, 100, 9000], steps=[0, 25_000, 40_000])
    records = {one["source"]: one for one in references_table(page_of(tmp_path)).records}
    record = records["LQNew: QingLi implementation"]
    assert (record["steps"], record["mean"]) == (25_000, 100)
    theirs = returns_at(of(references, "LQNew: QingLi implementation", "HalfCheetah-v2", "TD3"), 25_000)
    assert record["their_mean"] == pytest.approx(theirs.mean())


def test_scores_after_the_common_step_are_not_those_that_are_compared(tmp_path):
    """400 steps after the budget, which no printed step shows: the evaluation at the budget is compared."""
    for seed in range(6):
        steps = [0, 50_000, 50_400]
        make_run(tmp_path, "HalfCheetah-v5", "td3", seed, [0, 10, 9000], steps=steps, total=50_000)
    row = rows_of(scores_table(page_of(tmp_path)))["HalfCheetah-v5, 50k steps", "td3"]
    assert (row["Mean"], row["Ours there"]) == ("9,000", "10.0")
    assert row["P(ours better)"].startswith("0.00 [")


@pytest.mark.parametrize("metric", ["area", "final-10"])
def test_no_reference_runs_beside_scores_of_another_kind(td3, tmp_path, metric):
    table = scores_table(page_of(tmp_path, metric=metric))
    assert not [name for name in table.header if "Reference" in name or "ours better" in name]
    (record,) = table.records
    assert {value for name, value in record.items() if name.startswith("reference_")} == {None}
