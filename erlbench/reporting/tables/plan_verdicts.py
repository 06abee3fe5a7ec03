"""The verdicts of a written plan: those of its contrasts at the last look that was reached, by the plan's own test."""

from __future__ import annotations

import math

import numpy as np

from erlbench.reporting.data.origin import random_score
from erlbench.reporting.data.score import CURVE, METRICS, UNITS, CurveStretch
from erlbench.reporting.data.study import PlannedStudy
from erlbench.reporting.data.study_departures import all_departures
from erlbench.reporting.statistics.estimates import mean
from erlbench.reporting.statistics.significance import MARGIN
from erlbench.reporting.tables.study_plan import Runs, TestedContrast, tested_contrasts
from erlbench.reporting.verdict.judged import defaults, sample_of, unequal
from erlbench.reporting.verdict.rule import Case, judge
from erlbench.reporting.verdict.value import DEPARTED, FOLLOWED, Verdict


def plan_verdicts(study: PlannedStudy, runs: Runs) -> list[Verdict]:
    """A verdict of each contrast; none before the first look."""
    rows = tested_contrasts(study, runs)
    decided = {row.contrast: row for row in rows if row.verdict.stops}
    last = [row for row in rows if row.seeds == study.reached[-1]]
    plan = DEPARTED if all_departures(study) else FOLLOWED
    return [_verdict(study, runs, decided.get(row.contrast, row), plan) for row in last]


def _verdict(study: PlannedStudy, runs: Runs, row: TestedContrast, plan: str) -> Verdict:
    contrast = row.contrast
    env = study.plan.cell(contrast.b).env
    origin = random_score(env) or 0.0
    outcome = judge(*map(np.array, row.scores), p=1.0, tests=len(study.plan.contrasts), origin=origin)
    case = Case.DECIDED if row.verdict.stops else outcome.case
    if case is Case.TOO_FEW:  # for the rule; the plan has tested them
        case = Case.UNDECIDED
    missing = study.plan.seeds - row.seeds if case is Case.UNDECIDED else 0
    stretch = CurveStretch(contrast.axis, *contrast.stretch)
    untested = math.isnan(row.p)
    seeds = study.plan.assigned_seeds()[: row.seeds]
    own = [study.runs_of(study.plan.cell(label), seeds, runs) or [] for label in (contrast.a, contrast.b)]
    best = max(map(mean, row.scores))
    first, second = (
        sample_of(label, scores, found, seeds=seeds, failed=0, best=best, origin=origin)
        for label, scores, found in zip((contrast.a, contrast.b), row.scores, own, strict=True)
    )
    compared = (own[0][0], own[1][0]) if all(own) else None
    return Verdict(
        case=Case.NOT_COMPARABLE if untested else case,
        reason="the curve of a run does not span the stretch" if untested else "",
        env=env,
        budget=f"{contrast.stretch[1]:,g} {UNITS[contrast.axis]}",
        axis=contrast.axis,
        score=f"{METRICS[CURVE].words} {stretch}",
        first=first,
        second=second,
        outcome=outcome.of_plan(case, row.p, row.verdict.boundary, missing),
        margin=MARGIN,
        origin=origin,
        equal_steps=None,
        unequal=unequal(*compared) if compared else {},
        defaults=compared is not None and defaults(*compared),
        plan=plan,
    )
