"""Columns that say how asynchronous a run was, and how busy it kept its processes."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from erlbench.reporting.data.timeline import Timeline
from erlbench.reporting.documents.formats import NONE, number, share, significant
from erlbench.reporting.documents.model import Column


def asynchrony(of: Callable[[Any], Timeline | None]) -> list[Column[Any]]:
    """Busy share, staleness, critic lag, queueing and second cores of the run whose tasks `of` gives for a row."""
    return [
        Column("Busy", lambda row: _busy(of(row)), share, name="utilisation",
               note="share of the span during which a process worked, mean over processes."),
        Column("Staleness", lambda row: _spread(of(row), "staleness"), _pair, name=("staleness_median", "staleness_90"),
               note="updates of the search distribution between asking for an individual's episodes and telling their "
               "result: median and 90 % quantile."),
        Column("Critic lag", lambda row: _spread(of(row), "critic_lag"), _pair,
               name=("critic_lag_median", "critic_lag_90"),
               note="critic updates in the same span: median and 90 % quantile."),
        Column("Queueing", lambda row: _spread(of(row), "queueing"), _pair, name=("queueing_median", "queueing_90"),
               unit="s", note="how long a task that plays episodes waited, from when it could have begun to when it "
               "began: median and 90 % quantile."),
        Column("Second cores", partial(_of, of, second_cores), number,
               note="cores that gradient tasks used beside their own, mean over the span."),
    ]  # fmt: skip


def second_cores(timeline: Timeline) -> float:
    """The mean number of second cores in use over the span; NaN where tasks.csv does not say."""
    first, last = timeline.span
    known = timeline.second_core[np.isfinite(timeline.second_core)]
    return float(known.sum()) / (last - first) if len(known) and last > first else math.nan


def _of(of: Callable[[Any], Timeline | None], what: Callable[[Timeline], float], row: Any) -> float:
    timeline = of(row)
    return what(timeline) if timeline else math.nan


def _busy(timeline: Timeline | None) -> float:
    if timeline is None:
        return math.nan
    busy = timeline.utilisation()
    return sum(busy.values()) / len(busy)


def _spread(timeline: Timeline | None, what: str) -> tuple[float, float]:
    """The median and the 90 % quantile over individuals; of queueing over all tasks that played episodes."""
    if timeline is None:
        return math.nan, math.nan
    if what == "queueing" and not timeline.run.timed:
        return math.nan, math.nan
    if what == "queueing":
        values = timeline.played(timeline.start - timeline.ready)
    else:
        values = timeline.individuals(getattr(timeline, what))
    return (float(np.median(values)), float(np.quantile(values, 0.9))) if len(values) else (math.nan, math.nan)


def _pair(median: float, most: float) -> str:
    return NONE if math.isnan(median) else f"{significant(median)}, {significant(most)}"
