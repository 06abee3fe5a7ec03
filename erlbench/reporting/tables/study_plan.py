"""The tables of a written plan: its contrasts at each look that was reached, and all that departs from it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from erlbench.experiment.departures import Departure
from erlbench.experiment.plan import HOLM, TIMESTEPS, Contrast
from erlbench.reporting.data.runs import Run
from erlbench.reporting.data.score import on_the_way, stretch_mean
from erlbench.reporting.data.study import PlannedStudy
from erlbench.reporting.data.study_departures import all_departures
from erlbench.reporting.documents.formats import NONE, number, significant, with_interval
from erlbench.reporting.documents.model import Column, Table
from erlbench.reporting.statistics.estimates import mean
from erlbench.reporting.statistics.sequential import LookVerdict, verdicts
from erlbench.reporting.statistics.significance import Difference, compare, welch
from erlbench.words import counted

Runs = Mapping[Path, Run]  # by their resolved folders


@dataclass(frozen=True, kw_only=True)
class TestedContrast:
    """One row: a contrast at one look."""

    contrast: Contrast
    seeds: int
    difference: Difference
    p: float  # of Welch's test
    scores: tuple[tuple[float, ...], tuple[float, ...]]
    steps: tuple[float, float]  # of the simulator, at the end of the stretch
    verdict: LookVerdict
    last: bool  # no further look is planned

    @property
    def decision(self) -> str:
        """What the plan says at this look."""
        if self.verdict.stopped:
            return "decided before"
        if math.isnan(self.p):
            return "cannot be tested"
        if self.verdict.stops:
            return "above" if self.difference.difference > 0 else "below"
        return "no difference found" if self.last else "open"


def plan_tables(study: PlannedStudy, runs: Runs) -> list[Table[Any]]:
    """The contrasts at the looks that were reached, and the departures. `runs` are those of the folder."""
    columns: list[Column[TestedContrast]] = [
        Column("Look", lambda row: f"{row.seeds} seeds", name="look"),
        Column("Contrast", lambda row: row.contrast.title),
        Column("Stretch", lambda row: _stretch(row.contrast)),
        Column("Means", lambda row: tuple(map(mean, row.scores)), lambda a, b: f"{number(a)}, {number(b)}",
               name=("mean_a", "mean_b"),
               note="of the two cells."),
        Column("Difference", lambda row: (row.difference.difference, *row.difference.interval), with_interval,
               name=("difference", "low", "high"), note="with its 95 % interval, of this contrast and look alone."),
        Column("p", lambda row: row.p, _small, name="p_welch"),
        Column("Stops at", lambda row: row.verdict.boundary, _small, name="boundary", note="the largest p that stops."),
        Column("Decision", lambda row: row.decision),
        Column("Simulator steps", lambda row: row.steps, lambda a, b: f"{number(a)}, {number(b)}",
               name=("simulator_steps_a", "simulator_steps_b"),
               note="of the two cells, all of them, at the end of the stretch."),
    ]  # fmt: skip
    found = all_departures(study)
    contrasts = Table("plan", _title(study), columns, tested_contrasts(study, runs), list(_remarks(study, runs, found)))
    return [contrasts, departures_table(found)] if found else [contrasts]


def departures_table(found: Sequence[Departure]) -> Table[Departure]:
    """What departs from the plan, a row each."""
    columns: list[Column[Departure]] = [
        Column("Departure", lambda row: str(row.kind), name="departure"),
        Column("Kind", lambda row: row.kind.name, shown=False),
        Column("About", lambda row: row.what),
    ]
    return Table("departures", "Departures from the plan", columns, found)


def tested_contrasts(study: PlannedStudy, runs: Runs) -> list[TestedContrast]:
    """Each contrast at each look that was reached, by exactly its seeds."""
    test, rows = study.plan.test, []
    for look in study.reached:
        seeds = study.plan.assigned_seeds()[:look]
        rows.append([_samples(study, runs, contrast, seeds) for contrast in study.plan.contrasts])
    differences = [[compare(*scores) for scores, _ in row] for row in rows]
    p_values = [[welch(*scores) for scores, _ in row] for row in rows]
    said = verdicts(test.looks, p_values, test.level, test.spending, holm=test.correction == HOLM)
    return [
        TestedContrast(
            contrast=contrast,
            seeds=look,
            difference=difference,
            p=p,
            scores=(tuple(a), tuple(b)),
            steps=steps,
            verdict=verdict,
            last=look == test.looks[-1],
        )
        for look, row, differing, ps, judged in zip(study.reached, rows, differences, p_values, said, strict=True)
        for contrast, ((a, b), steps), difference, p, verdict in zip(study.plan.contrasts, row, differing, ps, judged)
    ]


def _samples(
    study: PlannedStudy, runs: Runs, contrast: Contrast, seeds: Sequence[int]
) -> tuple[tuple[list[float], list[float]], tuple[float, float]]:
    """The scores of the two cells, and their mean simulator steps at the end of the stretch."""
    scores, steps = [], []
    for label in (contrast.a, contrast.b):
        curves = [
            on_the_way(run.evaluations, contrast.axis)
            for run in study.runs_of(study.plan.cell(label), seeds, runs) or ()
        ]
        scores.append([stretch_mean(x, y, *contrast.stretch) for x, y, _ in curves])
        steps.append(mean([np.interp(contrast.stretch[1], x, all_steps) for x, _, all_steps in curves if len(x)]))
    return (scores[0], scores[1]), (steps[0], steps[1])


def _remarks(study: PlannedStudy, runs: Runs, found: Sequence[Departure]) -> Iterator[str]:
    plan, test = study.plan, study.plan.test
    correction = "Holm's correction" if test.correction == HOLM else "no correction"
    yield (
        f"Plan{f' of {plan.written}' if plan.written else ''}, SHA-256 {plan.hash}: {counted(len(plan.cells), 'cell')} "
        f"with {plan.seeds} seeds. Welch's test of {counted(len(plan.contrasts), 'contrast')} after "
        f"{', '.join(map(str, test.looks))} seeds, {test.spending} spending, {correction}, nominal level "
        f"{test.level:g}. A run's score is the mean of its evaluation curve over the stretch, without the final "
        "evaluation."
    )
    hours, measured = study.core_hours(runs)
    complete = len(study.complete)
    modelled = "modelled " if plan.simulated_time else ""
    what = "processor time" if measured else f"by the {modelled}time of training, as processor time is not recorded"
    yield (
        f"{complete} of {plan.seeds} seeds {'is' if complete == 1 else 'are'} complete in all cells; they cost "
        f"{significant(hours)} core-hours ({what})."
    )
    if short := _short(study, runs):
        yield (
            f"The curves of {counted(len(short), 'finished run')} do not span a stretch of their scores, so its "
            f"contrasts cannot be tested: {', '.join(short)}."
        )
    if not study.reached:
        yield f"The first look is after {test.looks[0]} seeds. Before it no contrast and no mean of a cell is shown."
    elif len(study.open_seeds) < complete:
        yield f"Only the first {len(study.open_seeds)} seeds are shown until the next look."
    yield f"Departures from the plan: {len(found) or 'none'}."


def _short(study: PlannedStudy, runs: Runs) -> list[str]:
    """The finished runs, shown or not, whose curve does not span a stretch over which it is averaged."""
    found: dict[str, None] = {}
    for contrast in study.plan.contrasts:
        for (label, _), record in study.done.items():
            run = runs.get(record.path.resolve())
            if run is not None and label in (contrast.a, contrast.b):
                x, y, _ = on_the_way(run.evaluations, contrast.axis)
                if math.isnan(stretch_mean(x, y, *contrast.stretch)):
                    found[record.label] = None
    return list(found)


def _title(study: PlannedStudy) -> str:
    return f"The plan of the study: {study.plan.title}" if study.plan.title else "The plan of the study"


def _small(p: float) -> str:
    return NONE if math.isnan(p) else f"{p:.3g}"


def _stretch(contrast: Contrast) -> str:
    start, end = contrast.stretch
    return f"{start:,g} to {end:,g} {'steps' if contrast.axis == TIMESTEPS else 'minutes'}"
