"""The program that measures the AES-RL paper's table 1: its commands, what it reads off a run, and the table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.wall_clock import after_warm_up, table

ROOT = Path(__file__).parents[1]
RUN = ROOT / "results/claims/swimmer-gradient-2/Swimmer-v5/cem-rl/seed-140920043"
STORED = ROOT / "results/claims/wall-clock"


def test_the_time_after_the_warm_up_is_between_rows_with_updates():
    """The run learns from its third generation on, 10,000 steps each."""
    steps, minutes, updates = after_warm_up(RUN)
    seconds = np.loadtxt(RUN / "train.csv", delimiter=",", skiprows=1, usecols=(1, 2, 4))
    assert (steps, updates) == (80_000, 1.0)
    learnt = seconds[seconds[:, 2] > 0]
    assert minutes == pytest.approx((learnt[-1, 1] - learnt[0, 1]) / 60 / 0.08)


@pytest.mark.data
def test_the_stored_table_is_that_of_the_stored_runs_and_stands_on_the_page():
    stored = pd.read_csv(STORED / "rows.csv")
    pd.testing.assert_frame_equal(table(STORED, 5), stored)
    page = (ROOT / "docs" / "time.md").read_text(encoding="utf-8")
    for _, rows in stored.groupby("name"):
        minutes, share = (f"{rows[name].mean():.{digits}f} ± {rows[name].std():.{digits}f}"
                          for name, digits in (("minutes", 0), ("share_of_serial", 2)))  # fmt: skip
        assert f"| {minutes} | {share} | {rows.updates_a_step.mean():.2f} |" in page
