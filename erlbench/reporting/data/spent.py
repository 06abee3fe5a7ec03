"""The computing time of runs: hours by the clock, of processors, and modelled ones; also of runs moved aside."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from erlbench.files import table_in
from erlbench.records.read import ignore, read_columns
from erlbench.records.run import ASIDE, RunFiles
from erlbench.records.schema import TaskRow
from erlbench.reporting.data.runs import Run

HOUR = 3600.0
UNKNOWN = math.nan


@dataclass(frozen=True, kw_only=True)
class RunTime:
    """Hours of one run; NaN where its files do not say."""

    clock: float = UNKNOWN  # with evaluations, without pauses; of simulated time never known
    processor: float = UNKNOWN  # of its tasks
    modelled: float = UNKNOWN  # of simulated time: no computing

    @property
    def known(self) -> bool:
        """Whether anything says how long it computed."""
        return not (math.isnan(self.clock) and math.isnan(self.processor))


def time_of(run: Run) -> RunTime:
    """The time of a run; where no total time is recorded, that of the training."""
    seconds = run.total_time_s if math.isfinite(run.total_time_s) else run.train_time_s
    return _time(seconds - run.paused_s, run.simulated_time, _processor_hours(run))


def times_aside(run: Run) -> Iterator[RunTime]:
    """The times of the runs that were moved aside for this one; unknown where their folder is gone."""
    for entry in run.machine.repeats:
        name = str(entry.get("folder"))
        if not (name.startswith(f"{run.path.name}{ASIDE}") and name.removeprefix(f"{run.path.name}{ASIDE}").isdigit()):
            yield RunTime()  # what meta.json lists may be anybody's text
            continue
        files = RunFiles(run.path.parent / name)
        status = files.status()
        try:
            simulated = table_in(files.config(), "run").get("simulated_time") is True
        except (OSError, ValueError):
            yield RunTime()
            continue
        yield _time(_number(status.get("total_time_s")) - np.nan_to_num(_number(status.get("paused_s"))), simulated)


def _time(seconds: float, simulated: bool, processor: float = UNKNOWN) -> RunTime:
    hours = seconds / HOUR if math.isfinite(seconds) and seconds >= 0 else UNKNOWN
    if simulated:
        return RunTime(modelled=hours, processor=processor)
    return RunTime(clock=hours, processor=processor)


def _processor_hours(run: Run) -> float:
    """Processor hours of all tasks; NaN where a task does not say."""
    if run.imported or not (run.path / TaskRow.file).is_file():
        return UNKNOWN
    try:
        rows = read_columns(run.path, TaskRow, ignore)
    except ValueError:
        return UNKNOWN
    seconds = np.array([], np.float64) if rows is None else np.asarray(rows["cpu_s"], np.float64)
    return float(seconds.sum()) / HOUR if len(seconds) else UNKNOWN


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else UNKNOWN
