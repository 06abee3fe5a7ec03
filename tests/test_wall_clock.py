"""The program that measures the AES-RL paper's table 1: its commands, what it reads off a run, and the table."""

from pathlib import Path

import pandas as pd
import pytest

from benchmarks.wall_clock import table

ROOT = Path(__file__).parents[1]
STORED = ROOT / "results/claims/wall-clock"


@pytest.mark.data
def test_the_stored_table_is_that_of_the_stored_runs_and_stands_on_the_page():
    stored = pd.read_csv(STORED / "rows.csv")
    pd.testing.assert_frame_equal(table(STORED, 5), stored)
    page = (ROOT / "docs" / "time.md").read_text(encoding="utf-8")
    for _, rows in stored.groupby("name"):
        minutes, share = (f"{rows[name].mean():.{digits}f} ± {rows[name].std():.{digits}f}"
                          for name, digits in (("minutes", 0), ("share_of_serial", 2)))  # fmt: skip
        assert f"| {minutes} | {share} | {rows.updates_a_step.mean():.2f} |" in page
