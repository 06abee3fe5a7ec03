"""Columns that say how asynchronous a run was, and how busy it kept its processes."""

from __future__ import annotations

import math

import numpy as np

from erlbench.reporting.data.timeline import Timeline
from erlbench.reporting.documents.formats import NONE, share, significant
from erlbench.reporting.documents.model import Column, Record

ASYNCHRONY: list[Column] = [
    Column("Busy", "utilisation", share, note="share of the span during which a process worked, mean over processes."),
    Column("Staleness", "staleness_median staleness_90", lambda median, most: _pair(median, most),
           note="updates of the search distribution between asking for an individual's episodes and telling their "
           "result: median and 90 % quantile."),
    Column("Critic lag", "critic_lag_median critic_lag_90", lambda median, most: _pair(median, most),
           note="critic updates in the same span: median and 90 % quantile."),
    Column("Queueing", "queueing_median queueing_90", lambda median, most: _pair(median, most), unit="s",
           note="how long a task that plays episodes waited, from when it could have begun to when it began: median "
           "and 90 % quantile."),
]  # fmt: skip


def asynchrony(timeline: Timeline | None) -> Record:
    """Busy share, staleness, critic lag and queueing of a run by its tasks; NaN without."""
    record = {"utilisation": _busy(timeline)}
    for what in ("staleness", "critic_lag", "queueing"):
        record[f"{what}_median"], record[f"{what}_90"] = _spread(timeline, what)
    return record


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
