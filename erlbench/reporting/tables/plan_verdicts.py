"""The verdicts of a written plan: those of its contrasts at the last look that was reached, by the plan's own test."""

from __future__ import annotations

import math

import numpy as np

from erlbench.reporting.data.origin import random_score
from erlbench.reporting.data.score import CURVE, METRICS, CurveStretch
from erlbench.reporting.data.study import PlannedStudy
from erlbench.reporting.data.study_departures import all_departures
from erlbench.reporting.statistics.estimates import mean, median
from erlbench.reporting.tables.study_plan import Runs, TestedContrast, tested_contrasts
from erlbench.reporting.verdict.rule import MARGIN, Case, judge
from erlbench.reporting.verdict.value import DEPARTED, FOLLOWED, Sample, Verdict


def plan_verdicts(study: PlannedStudy, runs: Runs) -> list[Verdict]:
    """A verdict of each contrast; none before the first look."""
    rows = tested_contrasts(study, runs)
    decided = {row.contrast.title: row for row in rows if row.verdict.stops}
    last = [row for row in rows if row.seeds == study.reached[-1]]
    plan = DEPARTED if all_departures(study) else FOLLOWED
    return [_verdict(study, runs, decided.get(row.contrast.title, row), plan) for row in last]


def _verdict(study: PlannedStudy, runs: Runs, row: TestedContrast, plan: str) -> Verdict:
    contrast = row.contrast
    env = study.plan.cell(contrast.b).env
    origin = random_score(env) or 0.0
    a, b = (np.array(scores) for scores in row.scores)
    outcome = judge(a, b, p=1.0, tests=len(study.plan.contrasts), origin=origin)
    case = Case.DECIDED if row.verdict.stops else outcome.case
    missing = study.plan.seeds - row.seeds if case is Case.UNDECIDED and not row.last else outcome.seeds_missing
    stretch = CurveStretch(contrast.axis, *contrast.stretch)
    return Verdict(
        case=Case.NOT_COMPARABLE if math.isnan(row.difference.welch) else case,
        reason="the curve of a run does not span the stretch" if math.isnan(row.difference.welch) else "",
        env=env,
        budget=f"{row.seeds} seeds of the plan",
        axis=contrast.axis,
        score=f"{METRICS[CURVE].words} {stretch}",
        first=_sample(study, runs, row, 0),
        second=_sample(study, runs, row, 1),
        outcome=outcome.of_plan(case, row.difference.welch, row.verdict.boundary, missing),
        margin=MARGIN,
        origin=origin,
        equal_steps=None,
        plan=plan,
    )


def _sample(study: PlannedStudy, runs: Runs, row: TestedContrast, side: int) -> Sample:
    label = (row.contrast.a, row.contrast.b)[side]
    seeds = study.plan.assigned_seeds()[: row.seeds]
    own = study.runs_of(study.plan.cell(label), seeds, runs) or []
    best = max(map(mean, row.scores))
    return Sample(
        name=label,
        scores=row.scores[side],
        seeds=seeds,
        runs=tuple("/".join(run.path.parts[-4:]) for run in own),
        failed=0,
        training_steps=mean([run.evaluations.timesteps[-1] for run in own]),
        simulator_steps=mean([run.evaluations.learning_steps[-1] for run in own]),
        near_best=sum(score >= best - MARGIN * abs(best) for score in row.scores[side]),
        minutes=median([run.seconds / 60 for run in own]),
        modelled=any(run.simulated_time for run in own),
    )
