"""The program that measures the AES-RL paper's table 1: its commands, what it reads off a run, and the table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.wall_clock import OPTIONS, PROCESSES, STEPS, after_warm_up, command, table
from erlbench.cli import cli
from erlbench.cli.run import command as run_command
from erlbench.experiment.arguments import arguments
from erlbench.experiment.command import requested_cells

ROOT = Path(__file__).parents[1]
RUN = ROOT / "results/claims/swimmer-gradient-2/Swimmer-v5/cem-rl/seed-140920043"
STORED = ROOT / "results/claims/wall-clock"


@pytest.mark.parametrize("name", PROCESSES)
def test_a_command_runs_the_studys_cells_with_fewer_steps(name, tmp_path):
    words = command(name, 2, tmp_path, "cpu")[4:]
    group = cli.make_context("erlbench", ["run"])
    cells = requested_cells(arguments(run_command.make_context("run", words, parent=group).params))
    assert [(cell.name, cell.seed, cell.total_timesteps) for cell in cells] == [(name, 0, STEPS), (name, 1, STEPS)]
    assert {cell.settings.start_timesteps for cell in cells} == {5000}
    assert "--one-core" in OPTIONS


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
