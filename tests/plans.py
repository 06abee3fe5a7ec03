"""A small study as a plan, by hand, and its runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from erlbench.experiment.cells import Cell, RunOptions
from erlbench.experiment.command import requested_cells, study_plan
from erlbench.experiment.options import RunArguments
from erlbench.experiment.plan_file import plan_text
from erlbench.running.runner import run_cells

TEXT = """\
format = 2
title = "Wide or narrow"
why = "A test."
written = "2026-11-25"
seeds = 4
pilot_seeds = [0, 1]

[evaluation]
eval_freq = 250
eval_episodes = 2
final_episodes = 3

[test]
looks = [2, 4]

[[cells]]
label = "wide"
algo = "cem"
env = "InvertedPendulum-v5"
total_timesteps = 1000
set = { population = 4, elites = 2, hidden = [8] }

[[cells]]
label = "narrow"
name = "cem-narrow"
algo = "cem"
env = "InvertedPendulum-v5"
total_timesteps = 1000
set = { population = 4, elites = 2, hidden = [8], initial_variance = 1e-4 }

[[contrasts]]
a = "narrow"
b = "wide"
stretch = [250, 750]
"""


def write(path: Path, **changes: str) -> Path:
    """The plan in a file, with parts of its text replaced; `changes` are `old=new`."""
    text = TEXT
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def planned_cells(path: Path, out: Path, seeds: int | None = None) -> list[Cell]:
    """The cells of a plan, all of a seed before those of the next."""
    return requested_cells(RunArguments(plan=str(path), out=str(out), only_seeds=seeds))


def run_cells_of(path: Path, out: Path, cells: Sequence[Cell], **options: Any) -> int:
    """Run cells of a plan as `erlbench run --plan` does; the exit code."""
    text = plan_text(study_plan(RunArguments(plan=str(path), out=str(out)))[0])
    return run_cells(cells, RunOptions(0, verbosity=-1, device="cpu", study_plan=text, **options))
