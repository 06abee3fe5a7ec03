"""What one run says in place of a score: its processor time a step, or when it first reaches a score."""

from __future__ import annotations

import math

import numpy as np

from erlbench.experiment.claims import PROCESSOR, Evidence
from erlbench.records.read import ignore
from erlbench.records.run import RunFiles
from erlbench.records.schema import TaskRow
from erlbench.reporting.data.runs import Run

EVALUATION = "evaluation"  # a kind of task: no training


def measured(run: Run, asked: Evidence) -> float:
    """The value of a run by the evidence's metric, of `PROCESSOR` and `REACHED`; NaN where its files do not say."""
    return processor_time(run) if asked.metric == PROCESSOR else first_reached(run, asked)


def processor_time(run: Run) -> float:
    """Processor seconds of its training tasks a training step; evaluations and the main process are left out."""
    tasks = RunFiles(run.path).rows(TaskRow, ignore)
    if tasks is None or tasks["cpu_s"].isna().any() or not run.timesteps:
        return math.nan
    return float(tasks["cpu_s"][tasks["kind"] != EVALUATION].sum()) / run.timesteps


def first_reached(run: Run, asked: Evidence) -> float:
    """Timesteps, episodes or generations before the first evaluation with the score; infinite without one."""
    assert asked.reaches is not None
    evaluations = run.evaluations
    counts = {
        "timesteps": evaluations.timesteps, "episodes": evaluations.episodes, "generations": evaluations.generation,
    }  # fmt: skip
    there = np.flatnonzero(evaluations.return_mean >= asked.reaches)
    return float(counts[asked.metric][there[0]]) if len(there) else math.inf
