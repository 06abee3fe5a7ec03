"""Nominal steps, as the ESAC paper counts: one episode of full length for a generation, whatever it plays."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from erlbench import files
from erlbench.records.read import read_rows
from erlbench.records.schema import GenerationRow
from erlbench.reporting.data.comparison import RunSet, with_runs
from erlbench.reporting.data.remarks import Warn
from erlbench.reporting.data.runs import Run, env_labels

if TYPE_CHECKING:
    from erlbench.experiment.study import Study

COLUMN = "nominal_timesteps"  # of train.csv, where the algorithm counts them
HEAD = 2**16  # bytes of a train.csv that hold its header
Cell = tuple[str, str, int]  # environment, name, most training steps


def nominal_budgets(studies: Iterable[Study]) -> dict[Cell, int]:
    """The steps that studies count for all generations of a cell, of entries that count them so."""
    found: dict[Cell, int] = {}
    plans = ((plan, entry, env) for study in studies for plan in study.profiles.values()
             for env, entry in product(plan.envs, study.entries) if entry.nominal)  # fmt: skip
    for plan, entry, env in plans:
        for label in env_labels(env, plan.env_settings):
            found.setdefault((label, entry.name, plan.most_timesteps(env, entry)), plan.timesteps(env, entry))
    return found


def with_nominal_steps(run: Run, budgets: Mapping[Cell, int], warn: Warn) -> Run:
    """The run with its nominal steps: of its train.csv, else of its study, else all steps of `single_episodes`.

    Any other run has none: nobody knows how many episodes a generation of it plays. `budgets`: of `nominal_budgets`.
    """
    steps = _of_train(run, warn) or _of_study(run, budgets) or (0.0 if _counts_all(run) else math.nan)
    return replace(run, evaluations=replace(run.evaluations, generation_steps=steps))


def with_known_steps(run_sets: Sequence[RunSet]) -> tuple[list[RunSet], str]:
    """The run sets with those runs that have nominal steps; and a note that names the others, or an empty text."""
    known, left_out = with_runs(run_sets, lambda run: run.evaluations.has_nominal)
    return known, nominal_note(left_out) if left_out else ""


def nominal_note(names: Iterable[str]) -> str:
    """That runs are left out, why, and what to do."""
    return (
        f"Not drawn over nominal steps: {', '.join(dict.fromkeys(names))}. No nominal steps are known for these runs. "
        "Choose another axis to see them, such as --x timesteps."
    )


def _counts_all(run: Run) -> bool:
    """Whether the run's algorithm plays one episode after the other; not asked of plug-ins, whose code is not run."""
    from erlbench.algorithms.registry import ALGORITHMS, find

    name = run.algo or run.name.partition("@")[0]
    return name in ALGORITHMS and find(name).single_episodes


def _of_study(run: Run, budgets: Mapping[Cell, int]) -> float:
    """The steps that a study counts for a generation of this cell; 0 where none does."""
    steps = budgets.get((run.env, run.name, run.total_timesteps), 0)
    return steps / run.total_generations if run.total_generations else 0.0


def _of_train(run: Run, warn: Warn) -> float:
    """The nominal steps of a generation by the last row of train.csv that has them; 0 without such a row."""
    rows = None
    with contextlib.suppress(OSError, ValueError):  # a file that cannot be read has no such row
        # The other files need not be read, and are many.
        if COLUMN.encode() in files.read_bytes(run.path / GenerationRow.file, first=HEAD, inside=1):
            rows = read_rows(run.path, GenerationRow, warn)
    if rows is None or COLUMN not in rows:
        return 0.0
    generation, nominal = (rows[name].to_numpy(np.float64) for name in ("generation", COLUMN))
    there = (generation >= 1) & (nominal > 0) & np.isfinite(nominal)
    return float(nominal[there][-1] / generation[there][-1]) if there.any() else 0.0
