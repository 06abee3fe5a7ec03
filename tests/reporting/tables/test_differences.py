"""Folders side by side, run set by run set."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from erlbench.errors import UsageError
from erlbench.reporting.differences import differences_table, read_sides
from tests.reporting.make_runs import make_cells

BEFORE = [100.0, 110.0, 90.0, 105.0, 95.0, 98.0, 102.0, 100.5]
AFTER = [130.0, 120.0, 140.0, 125.0, 150.0, 109.5, 145.0, 144.5]


def test_cells_by_hand_and_three_folders_share_one_correction(tmp_path):
    sides = {"before": {"td3": BEFORE}, "after": {"td3": AFTER, "sac": [7]}, "third": {"td3": np.add(BEFORE, 1.01)}}
    for name, scores in sides.items():
        make_cells(tmp_path / name, "Ant-v5", scores, before=(0,))
    folders = [tmp_path / name for name in sides]
    ranks = [
        max(stats.mannwhitneyu(other, BEFORE).pvalue, stats.brunnermunzel(other, BEFORE).pvalue)
        for other in (AFTER, sides["third"]["td3"])
    ]
    for count in (2, 3):
        table = differences_table(read_sides(folders[:count], pytest.fail), "final")
        rows = {(row["name"], row["folder"]): row for row in table.records}
        after = rows["td3", "after"]
        assert (after["env"], after["total_timesteps"], after["n_first"], after["n"]) == ("Ant-v5", 1000, 8, 8)
        assert (after["mean_first"], after["mean"]) == (pytest.approx(np.mean(BEFORE)), 133.0)
        interval = stats.ttest_ind(AFTER, BEFORE, equal_var=False).confidence_interval()
        assert after["difference"] == pytest.approx(133 - np.mean(BEFORE))
        assert (after["difference_low"], after["difference_high"]) == pytest.approx((interval.low, interval.high))
        assert after["p_holm"] == pytest.approx((count - 1) * ranks[0])
        sac = rows["sac", "after"]
        assert (sac["n_first"], sac["mean"], sac["difference"]) == (None, 7.0, None)
        assert sac["status"] == "not in the first folder"
    assert rows["td3", "third"]["p_holm"] == pytest.approx(ranks[1])
    for wrong, words in ((folders[:1], "takes two folders"), (folders[:1] * 2, "same folder twice")):
        with pytest.raises(UsageError, match=words):
            read_sides(wrong, pytest.fail)
