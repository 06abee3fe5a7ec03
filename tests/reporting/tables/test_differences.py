"""Folders side by side, run set by run set."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from erlbench.errors import UsageError
from erlbench.reporting.differences import differences_table, read_sides
from tests.reporting.make_runs import make_run

BEFORE = [100.0, 110.0, 90.0, 105.0, 95.0, 98.0, 102.0, 100.5]
AFTER = [130.0, 120.0, 140.0, 125.0, 150.0, 109.5, 145.0, 144.5]


@pytest.fixture
def folders(tmp_path):
    """Two folders with the same cell, and one cell that only the second has."""
    for folder, scores in (("before", BEFORE), ("after", AFTER)):
        for seed, score in enumerate(scores):
            make_run(tmp_path / folder, "Ant-v5", "td3", seed, [0, score], seconds_per_step=0.06)
    make_run(tmp_path / "after", "Ant-v5", "sac", 0, [0, 7])
    return [tmp_path / "before", tmp_path / "after"]


def ranks_p(x, y):
    return max(stats.mannwhitneyu(x, y).pvalue, stats.brunnermunzel(x, y).pvalue)


def test_a_cell_by_hand(folders):
    table = differences_table(read_sides(folders, pytest.fail), "final")
    sac, td3 = table.records
    assert (td3["env"], td3["total_timesteps"], td3["name"], td3["folder"]) == ("Ant-v5", 1000, "td3", "after")
    assert (td3["n_first"], td3["n"], td3["mean_first"], td3["mean"]) == (8, 8, pytest.approx(np.mean(BEFORE)), 133.0)
    assert td3["difference"] == pytest.approx(133 - np.mean(BEFORE))
    theirs = stats.ttest_ind(AFTER, BEFORE, equal_var=False)
    interval = theirs.confidence_interval()
    assert td3["p_holm"] == pytest.approx(ranks_p(AFTER, BEFORE))
    assert (td3["difference_low"], td3["difference_high"]) == pytest.approx((interval.low, interval.high))
    assert table.cells[1][table.header.index("Difference")].style == "bold"
    assert (sac["n_first"], sac["mean"], sac["difference"], sac["status"]) == (
        None,
        7.0,
        None,
        "not in the first folder",
    )


def test_three_folders_share_one_correction(folders, tmp_path):
    for seed, score in enumerate(BEFORE):
        make_run(tmp_path / "third", "Ant-v5", "td3", seed, [0, score + 1.01])
    table = differences_table(read_sides([*folders, tmp_path / "third"], pytest.fail), "final")
    assert [name for name in table.header if name.startswith("Mean")] == ["Mean before", "Mean there"]
    assert "budgets differ" not in " ".join(table.notes)
    found = {record["folder"]: record["p_holm"] for record in table.records if record["name"] == "td3"}
    assert found["after"] == pytest.approx(2 * ranks_p(AFTER, BEFORE))
    assert found["third"] == pytest.approx(ranks_p(np.add(BEFORE, 1.01), BEFORE))


def test_folders_that_cannot_be_compared_are_refused(folders):
    with pytest.raises(UsageError, match="takes two folders"):
        read_sides(folders[:1], pytest.fail)
    with pytest.raises(UsageError, match="same folder twice"):
        read_sides([folders[0], folders[0]], pytest.fail)
