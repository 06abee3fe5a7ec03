"""Runs of a report that are too alike to be independent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from erlbench.records.likeness import ReturnSeries, suspicions
from erlbench.reporting.data.remarks import Remark, RemarkKind, remark
from erlbench.reporting.data.runs import Run


def suspicions_of(runs: Iterable[Run]) -> Iterator[Remark]:
    """What their evaluations have in common; of running means of training returns, which overlap, nothing is said."""
    series = [ReturnSeries(run.path, run.env, run.name, run.seed, run.evaluations.return_mean) for run in runs]
    for found in suspicions(series):
        yield remark(
            RemarkKind.SUSPICIOUS, found.path, what=found.kind.value, other=found.other, rows=found.rows,
            start=found.start + 1, other_start=found.other_start + 1,
        )  # fmt: skip
