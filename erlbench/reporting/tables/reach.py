"""The table of training steps to a score, beside the steps that papers report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from erlbench.reporting.data.comparability import base_name
from erlbench.reporting.data.comparison import Comparison, Group, RunSet
from erlbench.reporting.data.published import Number, Published, Threshold
from erlbench.reporting.data.remarks import RemarkKind, Warn, remark
from erlbench.reporting.data.runs import Array, Run
from erlbench.reporting.documents.formats import NONE, count, exact, number
from erlbench.reporting.documents.model import Column, Table
from erlbench.reporting.statistics import estimates
from erlbench.reporting.statistics.metrics import average_reached, reached
from erlbench.reporting.tables.columns import identity, status, updates
from erlbench.reporting.tables.published_notes import environment_note


@dataclass(frozen=True)
class Target:
    """A score to be reached, and what is published on it."""

    score: float
    threshold: Threshold | None

    @property
    def share(self) -> str | None:
        """`25 % of TRPO`."""
        return f"{self.threshold.percent} % of {self.threshold.score.algorithm}" if self.threshold else None

    @property
    def source(self) -> str | None:
        """Where it is published."""
        return f"{self.threshold.score.source}, {self.threshold.score.table}" if self.threshold else None

    @property
    def env(self) -> str | None:
        """The environment as the source names it."""
        return self.threshold.score.env if self.threshold else None

    def published(self, algorithm: str) -> float:
        """The published training steps of an algorithm; NaN without."""
        numbers = self.threshold.steps if self.threshold else ()
        return next((found.value for found in numbers if found.algorithm == algorithm), math.nan)


@dataclass(frozen=True)
class Reached:
    """One row: a run set and a score."""

    group: Group
    run_set: RunSet
    target: Target

    @property
    def steps(self) -> Array:
        """Training steps of each finished run to the score; infinite for a run that never reached it."""
        return _each_run(self.run_set.done, self.target.score)[0]

    @property
    def finite(self) -> Array:
        """Those of the runs that reached it."""
        return self.steps[np.isfinite(self.steps)]

    def minutes(self, modelled: bool) -> float:
        """Median training time by the clock, or modelled; NaN where the middle is a run that never reached the score.

        NaN, too, where runs have the other kind of time.
        """
        timed = [run for run in self.run_set.done if run.timed]
        kinds = {run.simulated_time for run in timed}
        return _median(_each_run(timed, self.target.score)[1]) if kinds == {modelled} else math.nan


def reach_table(
    comparison: Comparison, scores: Sequence[float], published: Published, warn: Warn
) -> Table[Reached] | None:
    """One row for each environment, algorithm and score; without `scores` the published ones of each environment.

    None (with a warning) when there is no score for any environment.
    """
    targets = {group.env: _targets(group, scores, published, warn) for group in comparison.groups}
    used = [target.threshold for found in targets.values() for target in found if target.threshold]
    numbers = [found for threshold in used for found in threshold.steps]
    rows = [
        Reached(group, run_set, target)
        for group in comparison.groups for run_set in group.run_sets if run_set.exists
        for target in targets[group.env]
    ]  # fmt: skip
    references = list(dict.fromkeys(threshold.score.algorithm for threshold in used))
    columns: list[Column[Reached]] = [
        *identity(comparison),
        Column("Score", lambda row: row.target.score, exact),
        Column("Share", lambda row: row.target.share, shown=bool(used)),
        Column("Reached", lambda row: (len(row.finite), len(row.run_set.done), row.run_set.planned), _of_done,
               name=("reached", "n", "planned")),
        Column("Median", lambda row: _median(row.steps), count, name="steps_median"),
        Column("Mean curve", lambda row: _finite(average_reached(row.run_set.done, row.target.score)), count,
               name="steps_average_curve"),
        *_ratios(references),
        *(
            Column(f"{kind} minutes", partial(Reached.minutes, modelled=modelled), number,
                   name=f"{kind.lower()}_minutes_median", shown=any(_timed(row, modelled) for row in rows))
            for kind, modelled in (("Measured", False), ("Modelled", True))
        ),
        Column("Steps", lambda row: _listed(row.steps), shown=False),
        *_published_columns(list(dict.fromkeys(found.algorithm for found in numbers)), " or ".join(references)),
        updates(rows),
        status(),
    ]  # fmt: skip
    remarks = (*_notes(comparison), *_published_notes(comparison, used, numbers))
    return Table("reach", comparison.heading("training steps to a score"), columns, rows, remarks) if rows else None


def _ratios(references: Sequence[str]) -> list[Column[Reached]]:
    """Steps of the mean curve as multiples of those of whom the scores are, as papers compare data efficiency."""
    return [
        Column(f"/ {name}", partial(_ratio, reference=name), number, name=f"ratio_to_{name}",
               note=f"the mean curve's steps divided by the published steps of {name}.")
        for name in references
    ]  # fmt: skip


def _ratio(row: Reached, reference: str) -> float:
    return _finite(average_reached(row.run_set.done, row.target.score)) / row.target.published(reference)


def _published_ratio(row: Reached, algorithm: str) -> float:
    """The published steps of an algorithm as multiples of those of whom the score is."""
    if row.target.threshold is None or row.target.threshold.score.algorithm == algorithm:
        return math.nan
    return row.target.published(algorithm) / row.target.published(row.target.threshold.score.algorithm)


def _published_columns(algorithms: Sequence[str], reference: str) -> list[Column[Reached]]:
    return [
        Column("Published source", lambda row: row.target.source, shown=False),
        Column("Published environment", lambda row: row.target.env, name="published_env", shown=False),
        *(
            Column(f"Published {name}", partial(_published_steps, algorithm=name), count,
                   name=f"published_steps_{name}")
            for name in algorithms
        ),
        *(
            Column(f"Published {name} / {reference}", partial(_published_ratio, algorithm=name), number,
                   name=f"published_ratio_{name}")
            for name in algorithms if name != reference
        ),
    ]  # fmt: skip


def _published_steps(row: Reached, algorithm: str) -> float:
    return row.target.published(algorithm)


def _of_done(reached: int, done: int, planned: int) -> str:
    return f"{reached}/{done}" if done else NONE


def _targets(group: Group, scores: Sequence[float], published: Published, warn: Warn) -> list[Target]:
    known = published.thresholds(base_name(group.env))
    if not scores and not known:
        warn(remark(RemarkKind.NO_SCORES, env=group.env))
    if not scores:
        return [Target(threshold.score.value, threshold) for threshold in known]
    return [Target(score, next((t for t in known if math.isclose(t.score.value, score)), None)) for score in scores]


def _each_run(runs: Sequence[Run], score: float) -> tuple[Array, Array]:
    """Steps and minutes (runs,) to the score; infinite for a run that never reached it."""
    pairs = np.array([reached(run.evaluations, score) for run in runs], dtype=np.float64).reshape(len(runs), 2)
    return pairs[:, 0], pairs[:, 1]


def _timed(row: Reached, modelled: bool) -> bool:
    return any(run.simulated_time is modelled and run.timed for run in row.run_set.done)


def _median(values: Array) -> float:
    """The median; NaN where it is infinite or a value is not known."""
    return _finite(estimates.median(values))


def _listed(steps: Array) -> str:
    return " ".join(f"{step:.0f}" for step in steps)


def _finite(value: float) -> float:
    return value if math.isfinite(value) else math.nan


def _notes(comparison: Comparison) -> Iterator[str]:
    done = [run for run_set in comparison.run_sets for run in run_set.done]
    gaps = [np.diff(run.evaluations.timesteps) for run in done if len(run.evaluations) > 1]
    episodes = sorted({run.eval_episodes for run in done if run.eval_episodes}, key=lambda n: (len(n), n))
    of = f" of {' or '.join(episodes)} episodes" if episodes else ""
    apart = ""
    if gaps:
        low, high = min(gap.min() for gap in gaps), max(gap.max() for gap in gaps)
        apart = f"; evaluations are {low:,.0f} to {high:,.0f} training steps apart, and nothing is known between them"
    yield (
        "Training steps (Median), and minutes of training time (median), at a run's first evaluation whose mean return"
        f"{of} of the deterministic reported policy is at or above the score{apart}. Reached: of the finished runs, "
        "the only ones that count. Median: over them, a run that never reached the score counting as later than all "
        "others (– where the middle is such a run). Mean curve: where the average of the finished runs, interpolated "
        "linearly between evaluations, is first at or above it."
    )


def _published_notes(comparison: Comparison, used: Sequence[Threshold], numbers: Sequence[Number]) -> Iterator[str]:
    for source, table in dict.fromkeys((threshold.score.source, threshold.score.table) for threshold in used):
        here = [found for found in numbers if (found.source, found.table) == (source, table)]
        seeds = " or ".join(str(value) for value in sorted({found.seeds for found in here if found.seeds}))
        of = f" of {seeds} runs" if seeds else ""
        yield f"Published: training steps{of} to the same score, {source}, {table}."
    noted = [found for found in (*(threshold.score for threshold in used), *numbers) if found.note]
    for algorithm, note in dict.fromkeys((found.algorithm, found.note) for found in noted):
        yield f"Published {algorithm}: {note}."
    envs = {threshold.score.env for threshold in used}
    for env in dict.fromkeys(group.env for group in comparison.groups if base_name(group.env) in envs):
        yield environment_note(env, base_name(env))
