"""The program that measures the AES-RL paper's table 1: its order, its cores, and what it reads off a run."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.wall_clock import OPTIONS, PROCESSES, SERIAL, STEPS, Cores, Job, after_warm_up, jobs, next_job
from erlbench.cli import cli
from erlbench.cli.run import command
from erlbench.experiment.arguments import arguments
from erlbench.experiment.command import requested_cells

RUN = Path(__file__).parents[1] / "results/claims/swimmer-gradient-2/Swimmer-v5/cem-rl/seed-140920043"


def test_the_first_run_that_fits_starts():
    order = jobs(2)
    assert [job.seed for job in order] == [0] * 4 + [1] * 4
    assert next_job(order, 16) == Job("aes-rl@w9", 0)
    assert next_job(order, 9) == Job("aes-rl", 0)
    assert next_job(order, 1) == Job(SERIAL, 0)
    assert next_job(order, 0) is None


def test_runs_have_cores_of_their_own_until_they_end(tmp_path):
    cores = Cores([0, 1])
    script = 'import os, sys; open(sys.argv[1], "w").write(str(sorted(os.sched_getaffinity(0))))'
    for name in ("a", "b"):
        cores.start([sys.executable, "-c", script, str(tmp_path / name)], 1)
    assert cores.free == []
    while cores.busy:
        cores.wait()
    assert cores.free == [0, 1]
    assert [(tmp_path / name).read_text() for name in ("a", "b")] == ["[0]", "[1]"]
    cores.start(["false"], 2)
    with pytest.raises(SystemExit, match="exit code 1"):
        cores.wait()


@pytest.mark.parametrize("name", PROCESSES)
def test_a_job_is_the_studys_cell_with_fewer_steps(name, tmp_path):
    words = Job(name, 3).command(tmp_path, "cpu")[4:]
    group = cli.make_context("erlbench", ["run"])
    (cell,) = requested_cells(arguments(command.make_context("run", words, parent=group).params))
    assert (cell.name, cell.seed, cell.total_timesteps) == (name, 3, STEPS)
    assert cell.settings.start_timesteps == 5000
    assert cell.directory == Job(name, 3).folder(tmp_path)
    assert "--one-core" in OPTIONS


def test_the_time_after_the_warm_up_is_between_rows_with_updates():
    """The run learns from its third generation on, 10,000 steps each."""
    steps, minutes, updates = after_warm_up(RUN)
    seconds = np.loadtxt(RUN / "train.csv", delimiter=",", skiprows=1, usecols=(1, 2, 4))
    assert (steps, updates) == (80_000, 1.0)
    learnt = seconds[seconds[:, 2] > 0]
    assert minutes == pytest.approx((learnt[-1, 1] - learnt[0, 1]) / 60 / 0.08)
