"""What a report may show of studies under written plans, and what it leaves behind in their journals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from erlbench.experiment.departures import Departure, Kind
from erlbench.experiment.plan import FILE
from erlbench.reporting.data.remarks import RemarkKind, Warn, remark
from erlbench.reporting.data.runs import Run, find_runs
from erlbench.reporting.data.score import AUTO
from erlbench.reporting.data.study import PlannedStudy, folder_of_results, studies_of
from erlbench.reporting.data.study_departures import record_report
from erlbench.reporting.documents.model import Table
from erlbench.reporting.options import ReportOptions
from erlbench.reporting.tables.plan_verdicts import plan_verdicts
from erlbench.reporting.tables.study_plan import plan_tables
from erlbench.reporting.verdict.value import Verdict


def seen_under_plans(
    folders: Sequence[Path], runs: Sequence[Run], options: ReportOptions, warn: Warn
) -> tuple[list[Run], list[Table[Any]], list[Verdict] | None]:
    """The runs that may be seen under the plans of their folders; the tables and verdicts of these plans.

    Without a plan the verdicts are None.

    What the report departs in is recorded in the journals of the studies; a `UsageError` where that fails.
    """
    tables: list[Table[Any]] = []
    verdicts: list[Verdict] = []
    withheld: set[Path] = set()
    studies = studies_of(folders, runs)
    for number, found in enumerate(studies, 1):
        study = record_report(found, asked_departures(found, folders, options))
        own = find_runs([study.folder], lambda message: None) if study.records else []
        by_folder = {run.path.resolve(): run for run in own}
        of_plan = plan_tables(study, by_folder)
        verdicts += plan_verdicts(study, by_folder)
        tables += of_plan if len(studies) == 1 else [replace(one, name=f"{one.name}-{number}") for one in of_plan]
        if study.withheld and not options.early:
            withheld |= study.withheld
            warn(remark(RemarkKind.WITHHELD, study.folder, runs=len(study.withheld)))
    places = Counter(folder_of_results(run) for run in runs if any(run.machine.plans))
    for place, number in places.items():
        if (place / FILE).is_file():
            continue
        warn(remark(RemarkKind.PLAN_GONE, place, runs=number))
    seen = [run for run in runs if run.path.resolve() not in withheld]
    return seen, tables, verdicts if studies else None


def asked_departures(study: PlannedStudy, folders: Iterable[Path], options: ReportOptions) -> Iterator[Departure]:
    """In what a report of `folders` with these options departs from the plan of a study."""
    if options.early and study.withheld:
        yield Departure(Kind.EARLY, f"{len(study.complete)} of {study.plan.seeds} seeds complete")
    if options.metric != AUTO:
        yield Departure(Kind.SCORE, f"--metric {options.metric}")
    if options.at is not None:
        yield Departure(Kind.SCORE, f"--at {options.at}")
    if options.baseline:
        yield Departure(Kind.FAMILY, f"--baseline {options.baseline}")
    if options.family != "study":
        yield Departure(Kind.FAMILY, f"--family {options.family}")
    whole = study.folder.resolve()
    for folder in folders:
        if whole in folder.resolve().parents:
            yield Departure(Kind.FAMILY, f"only {folder.resolve().relative_to(whole)}")
