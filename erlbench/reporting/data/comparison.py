"""Which runs stand in which table: run sets, groups of one environment and budget, and the page of all runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import cached_property

import numpy as np

from erlbench.records.config import TRAINING
from erlbench.reporting.data.cut import Moment
from erlbench.reporting.data.runs import Array, StoredRun
from erlbench.reporting.data.score import (
    AUTO,
    CURVE,
    FINAL,
    LEARNING,
    METRICS,
    MINUTES,
    TIMESTEPS,
    CurveStretch,
    common_stretch,
    score,
)
from erlbench.reporting.data.seeds import sample_words, seed_means, single_run_std, values_by_seed
from erlbench.reporting.documents.formats import slug, steps

ALL_RUNS, REFERENCE = "all-runs", "reference"  # the pages that are no study


class PagePart(Enum):
    """What a page may show besides the runs' status."""

    CURVES = auto()  # and the tables of scores
    STATISTICS = auto()  # of pairs and over environments, metrics, profiles, tuning
    TIMES = auto()
    TIMELINES = auto()


OF_ALL_RUNS = (PagePart.CURVES, PagePart.STATISTICS, PagePart.TIMES, PagePart.TIMELINES)
OF_STUDIES = {  # by their kind
    "scores": (PagePart.CURVES, PagePart.STATISTICS),
    "time": (PagePart.TIMES, PagePart.TIMELINES),
    "curves": (PagePart.CURVES,),
    "timeline": (PagePart.TIMES, PagePart.TIMELINES),
}


@dataclass(frozen=True, kw_only=True)
class RunSet:
    """One cell of a comparison, an algorithm in an environment: its runs, done or not, some seeds with several."""

    env: str
    name: str
    label: str = ""  # by default the name
    published: str = ""  # the algorithm's label in the published table
    planned: int = 0  # seeds
    runs: tuple[StoredRun, ...] = ()
    exists: bool = True  # False: published, but not part of the suite
    nominal: bool = False  # its budget counts one episode per generation
    own_timesteps: int = 0  # its budget where it has another one than its group
    metric: str = FINAL  # of `METRICS`
    stretch: CurveStretch | None = None  # of the curve, where that is the metric
    judged: bool = True  # False: its scores mean nothing, so nothing stands beside them
    departures: tuple[str, ...] = ()  # settings of its runs that are not those of the study's cells

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", self.label or self.name)

    @cached_property
    def done(self) -> tuple[StoredRun, ...]:
        """The runs that count in tables."""
        return tuple(run for run in self.runs if run.done)

    @property
    def failed(self) -> tuple[StoredRun, ...]:
        """The runs that ended by an error."""
        return tuple(run for run in self.runs if run.status == "failed")

    def with_failed(self) -> RunSet:
        """The run set with its failed runs counted as if done, by their last score.

        One that failed before its first evaluation has the initial score of another run.
        """
        first = next((run.evaluations.head(1) for run in self.runs if len(run.evaluations)), None)
        runs = []
        for run in self.runs:
            if run.status == "failed" and first is not None:
                known = run.evaluations if len(run.evaluations) else first
                run = replace(run, status="done", evaluations=known)
            runs.append(run)
        return replace(self, label=f"{self.label}, failed: last", runs=tuple(runs), metric=self.final_metric)

    @property
    def final_metric(self) -> str:
        """The metric of runs that do not reach the stretch of a curve."""
        return FINAL if self.metric == CURVE else self.metric

    @property
    def score_words(self) -> str:
        """What its scores are."""
        words = METRICS[self.metric].words
        if any(run.imported and run.imported.returns == TRAINING for run in self.done):
            words = f"{words} (running means of training returns in place of evaluations)"
        return words + (f" {self.stretch}" if self.stretch and self.metric == CURVE else "")

    @property
    def has_fitness_steps(self) -> bool:
        """Whether a run learnt from steps that the budget does not count."""
        return any(run.evaluations.learning_steps[-1] > run.evaluations.timesteps[-1] for run in self.done)

    def within(self, learning_steps: int) -> RunSet:
        """The run set after so many training and fitness steps together: by the last evaluation before, or the curve.

        The stretch of a curve is then one of these steps.
        """
        runs, beyond = [], int(self.metric == CURVE)
        for run in self.done:
            known = int((run.evaluations.learning_steps <= learning_steps).sum()) + beyond
            runs.append(replace(run, evaluations=run.evaluations.head(max(1, known))))
        stretch = replace(self.stretch, axis=LEARNING) if self.stretch else None
        return replace(self, label=f"{self.label}, fitness steps counted", runs=tuple(runs), stretch=stretch)

    @cached_property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of the runs that count: the sample."""
        return tuple(dict.fromkeys(run.seed for run in self.done))

    @property
    def sample(self) -> str:
        """`3 runs`, or `3 seeds, 6 runs` where seeds have several."""
        return sample_words(len(self.seeds), len(self.done))

    def by_seed(self, value: Callable[[StoredRun], float]) -> Array:
        """A value of each seed (seeds,): the mean over its runs."""
        return seed_means(values_by_seed(self.done, value))

    def mean_std(self, value: Callable[[StoredRun], float]) -> tuple[float, float]:
        """The mean over seeds, and the standard deviation of a single run."""
        values = values_by_seed(self.done, value)
        return float(seed_means(values).mean()) if values else float("nan"), single_run_std(values)

    @cached_property
    def run_scores(self) -> tuple[Array, ...]:
        """The scores of the runs of each seed that has one, (runs of the seed,) each."""
        values = values_by_seed(self.done, lambda run: score(run.evaluations, self.metric, self.stretch))
        return tuple(own for own in values if not np.isnan(own).any())

    @cached_property
    def scores(self) -> Array:
        """The score of each seed that has one (seeds,), the mean over its runs, read-only."""
        known = seed_means(self.run_scores)
        known.flags.writeable = False
        return known

    @property
    def score_std(self) -> float:
        """The standard deviation of a single run's score."""
        return single_run_std(self.run_scores)

    @property
    def status(self) -> str:
        """`done`, `not run`, or what the runs that do not count are at."""
        if not self.exists:
            return "not run: not in the suite"
        open_runs = [run for run in self.runs if not run.done]
        parts = [f"seed {run.seed} {run_status(run)}" for run in open_runs[:3]]
        parts += [f"{len(open_runs) - 3} more unfinished"] if len(open_runs) > 3 else []
        absent = self.planned - len({run.seed for run in self.runs})
        if absent > 0:
            parts.append("not run" if not self.runs else f"{absent} not run")
        return "; ".join(parts) or "done"


@dataclass(frozen=True)
class Group:
    """The run sets of one environment with one budget."""

    env: str
    env_published: str
    total_timesteps: int
    run_sets: tuple[RunSet, ...]
    at: Moment | None = None  # where its runs are cut; None: they are whole

    @property
    def total_generations(self) -> int:
        """The generations after which its runs end, if they say so and agree; else 0."""
        limits = {run.total_generations for run_set in self.run_sets if not run_set.nominal for run in run_set.runs}
        return limits.pop() if len(limits) == 1 else 0

    @property
    def total_minutes(self) -> float:
        """The modelled minutes that its runs have to pass, if they agree; else 0."""
        limits = {run.total_minutes for run_set in self.run_sets for run in run_set.runs}
        return limits.pop() if len(limits) == 1 else 0.0

    @property
    def budget(self) -> tuple[str, int, int, float]:
        """Environment, steps, generations and minutes: what no two groups of a page share."""
        return self.env, self.total_timesteps, self.total_generations, self.total_minutes

    @property
    def limit(self) -> str:
        """What ends its runs: `60,000 steps`, `300 generations or 60,000 steps`."""
        if self.at:
            return str(self.at)
        generations = f"{self.total_generations:,} generations" if self.total_generations else ""
        limits = generations, _and_minutes(f"{self.total_timesteps:,} steps", self)
        return " or ".join(filter(None, limits)) or "not recorded"

    def run_set(self, name: str) -> RunSet | None:
        """The run set of an entry."""
        return next((run_set for run_set in self.run_sets if run_set.exists and run_set.name == name), None)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What one page of the report shows."""

    name: str  # of its folder
    title: str
    groups: tuple[Group, ...]
    study: str = ""  # empty for all runs, whatever study they belong to
    parts: tuple[PagePart, ...] = OF_ALL_RUNS
    source: str = ""  # of published numbers
    table: str = ""
    baseline: str = ""
    profile: str = ""
    statistic: str = "mean"  # of the published numbers that stand beside our means
    note: str = ""  # how the study's cells differ from what was published
    x: str = "timesteps"  # what its curves are drawn over first
    item: str = ""  # of the source: what the page repeats
    tested: bool = True  # False: its pairs are tested elsewhere, by what a study compares
    metric: str = FINAL  # of `METRICS`, or AUTO: each environment its own

    @property
    def at(self) -> Moment | None:
        """Where the runs of all groups are cut."""
        return self.groups[0].at if self.groups else None

    @property
    def score_words(self) -> str:
        """What the scores are, environment by environment where they differ."""
        kinds: dict[str, list[str]] = {}
        for group in self.groups:
            for words in dict.fromkeys(one.score_words for one in group.run_sets if one.exists):
                kinds.setdefault(words, []).append(self.group_name(group))
        if len(kinds) < 2:
            return next(iter(kinds), METRICS[FINAL].words)
        return "; ".join(f"{words} ({', '.join(dict.fromkeys(names))})" for words, names in kinds.items())

    @property
    def score_title(self) -> str:
        """What a heading calls them."""
        titles = {METRICS[one.metric].title for one in self.run_sets if one.exists}
        return titles.pop() if len(titles) == 1 else "scores"

    @property
    def by_final(self) -> bool:
        """Whether all scores are of the final evaluation."""
        return all(one.metric == FINAL for one in self.run_sets)

    @property
    def notes(self) -> list[str]:
        """The study's note, for captions; none where it has none."""
        return [self.note] if self.note else []

    @property
    def by_time(self) -> bool:
        """Whether its runs are cut after some minutes, so that each has other training steps."""
        return self.at is not None and self.at.minutes

    def group_name(self, group: Group) -> str:
        """The environment, with the budget where the page has several."""
        short = steps(group.total_timesteps)
        others = {one.total_timesteps for one in self.groups if one.env == group.env} - {group.total_timesteps}
        exact = f"{group.total_timesteps:,}" if short in map(steps, others) else short
        budget = _and_minutes(f"{exact} steps", group) or "budget not recorded"
        if group.total_generations:
            alike = [
                one for one in self.groups if (one.env, one.total_generations) == (group.env, group.total_generations)
            ]
            budget = f"{group.total_generations:,} generations" + (f" or {budget}" if len(alike) > 1 else "")
        several = not (self.study or self.at) or len({group.total_timesteps for group in self.groups}) > 1
        return f"{group.env}, {budget}" if several else group.env

    def slug(self, group: Group) -> str:
        """The environment as part of a file's name, with the budget where the page has several."""
        if self.study or self.at:
            return slug(group.env)
        twice = sum(one.budget[:2] == group.budget[:2] for one in self.groups) > 1
        minutes = f"-{group.total_minutes:g}min" if group.total_minutes else ""
        generations = f"-{group.total_generations}" if twice and (group.total_generations or not minutes) else ""
        return f"{slug(group.env)}-{group.total_timesteps}{generations}{minutes}"

    def by_budget(self) -> list[Comparison]:
        """The page's groups that can be pooled: on the page of all runs those of one budget, else all."""
        budgets = dict.fromkeys(group.budget[1:] for group in self.groups) if not self.study else ()
        parts = [tuple(group for group in self.groups if group.budget[1:] == budget) for budget in budgets]
        return [replace(self, groups=groups) for groups in parts] or [self]

    def heading(self, what: str) -> str:
        """The title of a table of the page."""
        return f"{self.title} – {what}"

    @property
    def budget(self) -> str:
        """The training steps in words."""
        budgets = sorted({group.total_timesteps for group in self.groups})
        if len({(group.total_timesteps, group.total_minutes) for group in self.groups}) > 1:
            return "the budget named with the environment"
        reached = [run.timesteps for run_set in self.run_sets if not run_set.nominal for run in run_set.done]
        generations = {group.total_generations for group in self.groups}
        if generations != {0} and len(generations) == 1:
            limit = f"{generations.pop():,} generations or {budgets[0]:,} training steps"
            return limit + (f" ({min(reached):,} to {max(reached):,} steps)" if reached else "")
        if self.at:
            return f"{self.at} (the nearest evaluations: {self.at.span(self.runs)})"
        span = f"{min(reached):,} to {max(reached):,}" if reached else ""
        if self.groups and self.groups[0].total_minutes:
            return _and_minutes(f"{budgets[0]:,} training steps", self.groups[0]) + (f" ({span} steps)" if span else "")
        over = max(reached, default=0) > 1.01 * budgets[0]
        more = f" (a run finishes what it has begun: {span})" if over else ""
        return f"{budgets[0]:,} training steps{more}"

    @property
    def published(self) -> bool:
        """Whether any of its entries has published numbers."""
        return any(run_set.published for run_set in self.run_sets)

    @property
    def run_sets(self) -> tuple[RunSet, ...]:
        """All run sets of the page."""
        return tuple(run_set for group in self.groups for run_set in group.run_sets)

    @property
    def runs(self) -> tuple[StoredRun, ...]:
        """All runs of the page."""
        return tuple(run for run_set in self.run_sets for run in run_set.runs)


def _and_minutes(steps: str, group: Group) -> str:
    """`110,000 steps and 19 modelled minutes`, or one of both; empty where the budget is not recorded."""
    minutes = f"{group.total_minutes:g} modelled minutes" if group.total_minutes else ""
    return " and ".join(filter(None, (steps if group.total_timesteps else "", minutes)))


def run_status(run: StoredRun) -> str:
    """`running, 12,000 of 20,000 steps`, with the message of a run that failed."""
    of = f" of {run.total_timesteps:,}" if run.total_timesteps else ""
    return f"{run.status}, {run.timesteps:,}{of} steps" + (f" ({run.message})" if run.message else "")


def everything(runs: Sequence[StoredRun], title: str = "All runs", at: Moment | None = None) -> Comparison:
    """All runs, whatever study they belong to, by environment and budget; `at`: where they were cut."""
    groups = []
    for budget in sorted({(run.env, *run.key[3:]) for run in runs}):
        env, total, *_ = budget
        here = [run for run in runs if (run.env, *run.key[3:]) == budget]
        cells: dict[str, list[StoredRun]] = {}
        for run in here:
            cells.setdefault(run.name, []).append(run)
        groups.append(Group(env, "", total, tuple(
            RunSet(env=env, name=name, planned=len({run.seed for run in own}), runs=tuple(own))
            for name, own in cells.items()
        ), at))  # fmt: skip
    return Comparison(name=ALL_RUNS, title=title, groups=tuple(groups))


def judged_alike(run_sets: Sequence[RunSet], metric: str, budget: float, axis: str = TIMESTEPS) -> tuple[RunSet, ...]:
    """The run sets of a comparison with one score: `AUTO` is the curve where all of their runs have it, else final."""
    stretch = None
    if metric in (AUTO, CURVE):
        runs = [run.evaluations for one in run_sets if one.exists for run in one.done]
        stretch = common_stretch(runs, budget, axis)
        metric = CURVE if stretch or metric == CURVE else FINAL
    return tuple(replace(one, metric=metric, stretch=stretch) for one in run_sets)


def judged_group(group: Group, metric: str) -> Group:
    """The group with one score; runs that generations end have no curve in common."""
    minutes = group.at.value if group.at and group.at.minutes else group.total_minutes
    budget = group.at.value if group.at else minutes or group.total_timesteps
    if metric == AUTO and group.total_generations:
        metric = FINAL
    return replace(group, run_sets=judged_alike(group.run_sets, metric, budget, MINUTES if minutes else TIMESTEPS))


def without_judgement(comparison: Comparison) -> Comparison:
    """The comparison without baseline, published numbers and reference runs, for runs whose scores mean nothing."""
    groups = tuple(
        replace(
            group,
            run_sets=tuple(
                replace(run_set, published="", judged=False) for run_set in group.run_sets if run_set.exists
            ),
        )
        for group in comparison.groups
    )
    return replace(comparison, groups=groups, baseline="")
