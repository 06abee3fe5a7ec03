"""What one side of a comparison says: a sample of runs, the summary of one, or a number without spread."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from erlbench.claims.measured import MEASURED, measured
from erlbench.claims.rows import distance_matrix, measured_column
from erlbench.experiment.claims import DISTANCE, Claim, Evidence
from erlbench.experiment.plan_file import plan_hash
from erlbench.records.run import run_folders
from erlbench.reporting.data.comparison import everything
from erlbench.reporting.data.published import Number, Published, load_published
from erlbench.reporting.data.runs import Run, find_runs
from erlbench.reporting.data.score import FINAL
from erlbench.reporting.data.spent import time_of
from erlbench.reporting.data.study import read_study
from erlbench.reporting.data.study_departures import all_departures
from erlbench.reporting.options import ReportOptions
from erlbench.reporting.statistics.estimates import Array
from erlbench.reporting.statistics.significance import Summary
from erlbench.reporting.tables.study_plan import TestedContrast, tested_contrasts
from erlbench.words import counted


@dataclass(frozen=True)
class SideReading:
    """A sample, or a number; `problem` says why there is none."""

    env: str = ""
    summary: Summary | None = None
    scores: Array | None = None  # (seeds,), where they are known one by one
    seeds: tuple[int, ...] = ()  # of the scores, where they are runs of ours
    apart: Array | None = None  # (seeds, seeds), distances within the sample, where they are the metric
    number: float = math.nan  # of evidence without spread
    problem: str = ""

    def over(self, other: SideReading) -> SideReading:
        """Divided by another one, a sample seed by seed; that is of no task."""
        if other.problem:
            return other
        if self.exact and other.exact and other.number:
            return SideReading(self.env, number=self.number / other.number)
        if self.scores is None or other.scores is None or not self.seeds or self.seeds != other.seeds:
            return SideReading(problem="only numbers without spread, or samples of the same seeds, are divided")
        return SideReading.of("", self.scores / other.scores, self.seeds)

    @classmethod
    def of(cls, env: str, scores: Array, seeds: tuple[int, ...] = ()) -> SideReading:
        """A sample whose scores are known one by one."""
        return cls(env, Summary.of(scores), scores, seeds)

    @property
    def runs(self) -> int:
        """Of the sample; 0 for a number without spread."""
        return 0 if self.summary is None else self.summary.runs

    @property
    def middle(self) -> float:
        """The mean, or the number."""
        return self.number if self.summary is None else self.summary.mean

    @property
    def exact(self) -> bool:
        """Whether it is a number without spread."""
        return not self.problem and self.summary is None


@dataclass(frozen=True)
class Sources:
    """Where evidence is taken from; what was read is kept."""

    results: Path
    published: Published = field(default_factory=load_published)
    _read: dict[Path, list[Run]] = field(default_factory=dict)

    def measured(self, asked: Evidence) -> SideReading:
        """What the evidence says; divided by what `over` says."""
        found: SideReading = getattr(self, f"_{asked.kind}")(asked)
        if asked.over is None or found.problem:
            return found
        return found.over(self.measured(asked.over))

    def unplanned(self, claim: Claim) -> str:
        """Why a claim's plan decides nothing yet; empty where it does.

        The plan in the folder is not that of the claim, something departs from it, or no look is reached.
        """
        folder = self.results / claim.folder
        if plan_hash(folder) != claim.plan:
            return f"the plan of {claim.folder} is not that of the claim"
        study = read_study(folder)
        if departures := all_departures(study):
            return f"{departures[0].what} departs from the plan: {departures[0].kind}"
        if study.reached:
            return ""
        complete = len(study.complete)
        said = f"{counted(complete, 'seed')} {'is' if complete == 1 else 'are'} complete"
        return f"{said}; the first look is after {study.plan.test.looks[0]}"

    def contrasts(self, claim: Claim) -> list[TestedContrast]:
        """The contrasts of a claim's plan, where they were decided, or at the last look."""
        folder = self.results / claim.folder
        study = read_study(folder)
        rows = tested_contrasts(study, {run.path.resolve(): run for run in self._in(folder)})
        last = {row.contrast: row for row in rows if row.seeds == study.reached[-1]}
        return [*(last | {row.contrast: row for row in rows if row.verdict.stops}).values()]

    def core_hours(self, claim: Claim) -> float:
        """What its stored runs took: processor time of tasks, else time by the clock; NaN where one says neither."""
        asked = [side for side in claim.evidence if side.kind == "runs"]
        found = {run.path: run for side in asked for folder in side.runs for run in self._in(self.results / folder)
                 if run.env == side.env and run.name in (side.names or (side.name,))}  # fmt: skip
        if claim.folder:
            found = {run.path: run for run in self._in(self.results / claim.folder)}
        return math.fsum(map(_core_hours, found.values()))

    def _value(self, asked: Evidence) -> SideReading:
        assert asked.value is not None
        return SideReading(asked.env, number=asked.value)

    def _forecast(self, asked: Evidence) -> SideReading:
        return SideReading(asked.env, problem="forecasts are no longer computed")

    def _published(self, asked: Evidence) -> SideReading:
        found = self._number(asked, asked.statistic)
        if found is None:
            return SideReading(problem=f"{asked.published} has no {asked.statistic} of {asked.name} on {asked.env}")
        if not found.comparable:
            return SideReading(
                problem=f"the number of {asked.name} on {asked.env} is most likely no return of an episode"
            )
        std = self._number(asked, "std") if asked.statistic == "mean" else None
        if std is None or found.seeds is None:
            return SideReading(asked.env, number=found.value)
        return SideReading(asked.env, Summary(found.value, std.value, found.seeds))

    def _number(self, asked: Evidence, statistic: str) -> Number | None:
        return self.published.find(asked.published, asked.table, asked.env, asked.name, statistic)

    def _others(self, asked: Evidence) -> SideReading:
        for one in self.published.references.sets:
            if (one.source.name, one.env, one.algorithm) == (asked.others, asked.env, asked.name):
                if one.algorithm in one.source.training_returns:
                    return SideReading(problem=f"{asked.others} has training returns of {asked.name}")
                if one.source.caveat:
                    return SideReading(problem=f"returns of {asked.others} are {one.source.caveat}")
                scores = one.at(asked.steps)
                return SideReading.of(asked.env, scores)
        return SideReading(problem=f"{asked.others} has no runs of {asked.name} on {asked.env}")

    def _runs(self, asked: Evidence) -> SideReading:
        if not asked.names:
            return self._named(asked)
        found = [self._named(replace(asked, name=name)) for name in asked.names]
        if problem := next((one.problem for one in found if one.problem), ""):
            return SideReading(problem=problem)
        if len({one.seeds for one in found}) > 1 or not found[0].seeds:
            return SideReading(problem="a range needs the same seeds of each name")
        return SideReading.of(asked.env, np.ptp(np.array([one.scores for one in found]), axis=0), found[0].seeds)

    def _named(self, asked: Evidence) -> SideReading:
        found = [run for folder in asked.runs for run in self._in(self.results / folder)]
        found = [run for run in found if (run.env, run.name) == (asked.env, asked.name)]
        if not found:
            return SideReading(problem=f"no runs of {asked.name} on {asked.env} are stored")
        own = asked.metric in MEASURED
        page = ReportOptions(metric=FINAL if own else asked.metric).judged(everything(found))
        run_set = page.groups[0].run_set(asked.name)
        if run_set is None or run_set.failed or not len(run_set.scores):
            return SideReading(problem=f"runs of {asked.name} on {asked.env} failed or have no score")
        scores = run_set.by_seed(lambda run: measured(run, asked)) if own else run_set.scores
        if asked.by is not None:
            scores = (scores <= asked.by).astype(np.float64)
        elif asked.reaches is not None and not own:
            scores = (scores >= asked.reaches).astype(np.float64)
        return SideReading.of(asked.env, scores, run_set.seeds if len(run_set.seeds) == len(scores) else ())

    def _rows(self, asked: Evidence) -> SideReading:
        path = self.results / asked.rows
        seeds, scores = (
            measured_column(path, asked.env, asked.name, asked.metric) if path.exists() else ((), np.empty(0))
        )
        if not len(scores):
            return SideReading(problem=f"no rows of {asked.name} on {asked.env} are stored")
        apart = distance_matrix(path, asked.env, asked.name, seeds) if asked.metric == DISTANCE else None
        return replace(SideReading.of(asked.env, scores, seeds), apart=apart)

    def _in(self, folder: Path) -> list[Run]:
        if folder not in self._read:
            self._read[folder] = find_runs([folder], lambda said: None) if run_folders(folder) else []
        return self._read[folder]


def _core_hours(run: Run) -> float:
    time = time_of(run)
    return time.clock if math.isnan(time.processor) else time.processor
