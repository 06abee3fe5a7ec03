"""The table of training steps to a score, beside the steps that papers report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from erlbench.reporting.data.comparability import base_name
from erlbench.reporting.data.comparison import Comparison, Group
from erlbench.reporting.data.published import Number, Published, Threshold
from erlbench.reporting.data.remarks import RemarkKind, Warn, remark
from erlbench.reporting.data.runs import Array, StoredRun
from erlbench.reporting.documents.formats import NONE, count, exact, number
from erlbench.reporting.documents.model import Column, Record, Table
from erlbench.reporting.statistics import estimates
from erlbench.reporting.statistics.curves import average_reached, reached
from erlbench.reporting.tables.columns import IDENTITY, STATUS, cell_record, updates
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


def reach_table(comparison: Comparison, scores: Sequence[float], published: Published, warn: Warn) -> Table | None:
    """One row for each environment, algorithm and score; without `scores` the published ones of each environment.

    None (with a warning) when there is no score for any environment.
    """
    targets = {group.env: _targets(group, scores, published, warn) for group in comparison.groups}
    used = [target.threshold for found in targets.values() for target in found if target.threshold]
    numbers = [found for threshold in used for found in threshold.steps]
    references = list(dict.fromkeys(threshold.score.algorithm for threshold in used))
    algorithms = list(dict.fromkeys(found.algorithm for found in numbers))
    rows = [
        {**cell_record(comparison, group, run_set), **_reached(run_set.done, target),
         **_published_record(run_set.done, target, references, algorithms)}
        for group in comparison.groups for run_set in group.run_sets if run_set.exists
        for target in targets[group.env]
    ]  # fmt: skip
    kinds = {run.simulated_time for one in comparison.run_sets for run in one.done if run.timed}
    columns: list[Column] = [
        *IDENTITY,
        Column("Score", "score", exact),
        Column("Share", "share", shown=bool(used)),
        Column("Reached", "reached n planned", _of_done),
        Column("Median", "steps_median", count),
        Column("Mean curve", "steps_average_curve", count),
        *(Column(f"/ {name}", (f"ratio_to_{name}",), number,
                 note=f"the mean curve's steps divided by the published steps of {name}.") for name in references),
        Column("Measured minutes", "measured_minutes_median", number, shown=False in kinds),
        Column("Modelled minutes", "modelled_minutes_median", number, shown=True in kinds),
        Column("Steps", "steps", shown=False),
        Column("Published source", "published_source", shown=False),
        Column("Published environment", "published_env", shown=False),
        *(Column(f"Published {name}", (f"published_steps_{name}",), count) for name in algorithms),
        *(Column(f"Published {name} / {' or '.join(references)}", (f"published_ratio_{name}",), number)
          for name in algorithms if name != " or ".join(references)),
        updates(rows),
        STATUS,
    ]  # fmt: skip
    remarks = (*_notes(comparison), *_published_notes(comparison, used, numbers))
    return Table("reach", comparison.heading("training steps to a score"), columns, rows, remarks) if rows else None


def _reached(runs: Sequence[StoredRun], target: Target) -> Record:
    """Training steps and minutes to a score; `n` counts the finished runs."""
    steps, _ = _each_run(runs, target.score)
    timed = [run for run in runs if run.timed]
    minutes = dict.fromkeys((False, True), math.nan)  # NaN where runs have both kinds of time
    if len(kinds := {run.simulated_time for run in timed}) == 1:
        minutes[kinds.pop()] = _median(_each_run(timed, target.score)[1])
    return {
        "score": target.score, "share": target.share, "reached": int(np.isfinite(steps).sum()), "n": len(runs),
        "steps_median": _median(steps), "steps_average_curve": _finite(average_reached(runs, target.score)),
        "measured_minutes_median": minutes[False], "modelled_minutes_median": minutes[True],
        "steps": " ".join(f"{step:.0f}" for step in steps),
    }  # fmt: skip


def _published_record(
    runs: Sequence[StoredRun], target: Target, references: Sequence[str], algorithms: Sequence[str]
) -> Record:
    """Published steps, and steps as multiples of those of whom the scores are, as papers compare data efficiency."""
    average = _finite(average_reached(runs, target.score))
    whose = target.threshold.score.algorithm if target.threshold else ""
    record: Record = {"published_source": target.source, "published_env": target.env}
    for name in references:
        record[f"ratio_to_{name}"] = average / target.published(name)
    for name in algorithms:
        record[f"published_steps_{name}"] = target.published(name)
        ratio = target.published(name) / target.published(whose) if whose and whose != name else math.nan
        record[f"published_ratio_{name}"] = ratio
    return record


def _of_done(reached: int, done: int, planned: int) -> str:
    return f"{reached}/{done}" if done else NONE


def _targets(group: Group, scores: Sequence[float], published: Published, warn: Warn) -> list[Target]:
    known = published.thresholds(base_name(group.env))
    if not scores and not known:
        warn(remark(RemarkKind.NO_SCORES, env=group.env))
    if not scores:
        return [Target(threshold.score.value, threshold) for threshold in known]
    return [Target(score, next((t for t in known if math.isclose(t.score.value, score)), None)) for score in scores]


def _each_run(runs: Sequence[StoredRun], score: float) -> tuple[Array, Array]:
    """Steps and minutes (runs,) to the score; infinite for a run that never reached it."""
    pairs = np.array([reached(run.evaluations, score) for run in runs], dtype=np.float64).reshape(len(runs), 2)
    return pairs[:, 0], pairs[:, 1]


def _median(values: Array) -> float:
    """The median; NaN where it is infinite or a value is not known."""
    return _finite(estimates.median(values))


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
