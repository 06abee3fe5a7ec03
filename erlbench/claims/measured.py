"""What one run says in place of a score: its processor time a step, its population, or when it reaches a score."""

from __future__ import annotations

import math

import numpy as np

from erlbench.experiment.claims import POPULATION, PROCESSOR, REACHED, Evidence
from erlbench.records.read import ignore
from erlbench.records.run import RunFiles
from erlbench.records.schema import GenerationRow, TaskRow
from erlbench.reporting.data.runs import Run

EVALUATION = "evaluation"  # a kind of task: no training
MEASURED = (PROCESSOR, POPULATION, *REACHED)  # metrics of `measured`


def measured(run: Run, asked: Evidence) -> float:
    """The value of a run by the evidence's metric, one of `MEASURED`; NaN where its files do not say."""
    if asked.metric == PROCESSOR:
        return processor_time(run)
    return population_return(run, asked.generations) if asked.metric == POPULATION else first_reached(run, asked)


def processor_time(run: Run) -> float:
    """Processor seconds of its training tasks a training step; evaluations and the main process are left out."""
    tasks = RunFiles(run.path).rows(TaskRow, ignore)
    if tasks is None or tasks["cpu_s"].isna().any() or not run.timesteps:
        return math.nan
    return float(tasks["cpu_s"][tasks["kind"] != EVALUATION].sum()) / run.timesteps


def population_return(run: Run, generations: int) -> float:
    """The mean fitness of the population, averaged over the first generations."""
    rows = RunFiles(run.path).rows(GenerationRow, ignore)
    if rows is None or "fitness_mean" not in rows or len(rows) < generations:
        return math.nan
    return float(rows["fitness_mean"][:generations].mean(skipna=False))


def first_reached(run: Run, asked: Evidence) -> float:
    """Timesteps, episodes or generations before the first evaluation with the score; infinite without one."""
    assert asked.reaches is not None
    evaluations = run.evaluations
    counts = {
        "timesteps": evaluations.timesteps, "episodes": evaluations.episodes, "generations": evaluations.generation,
    }  # fmt: skip
    there = np.flatnonzero(evaluations.return_mean >= asked.reaches)
    return float(counts[asked.metric][there[0]]) if len(there) else math.inf
