"""The table of training steps to a score, beside the steps that papers report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from erlbench.reporting import statistics
from erlbench.reporting.comparability import base_name, environment_note
from erlbench.reporting.comparison import Comparison, Group
from erlbench.reporting.csvfile import Warn
from erlbench.reporting.metrics import average_reached, reached
from erlbench.reporting.published import Number, Published, Threshold
from erlbench.reporting.runs import Array, Run
from erlbench.reporting.scores import identity
from erlbench.reporting.tables import NONE, Table, exact, number


@dataclass(frozen=True)
class Target:
    """A score to be reached, and what is published on it."""

    score: float
    threshold: Threshold | None

    @property
    def share(self) -> str:
        """`25 % of TRPO`, or a dash."""
        return f"{self.threshold.percent} % of {self.threshold.score.algorithm}" if self.threshold else NONE

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
    algorithms = list(dict.fromkeys(found.algorithm for found in numbers))
    rows, records = [], []
    for group in comparison.groups:
        for cell in (cell for cell in group.cells if cell.exists):
            for target in targets[group.env]:
                steps, minutes = _each_run(cell.done, target.score)
                average = average_reached(cell.done, target.score)
                finite = steps[np.isfinite(steps)]
                low, high = (float(finite.min()), float(finite.max())) if len(finite) else (math.nan, math.nan)
                middle, time = statistics.median(steps), statistics.median(minutes)
                theirs = {name: target.published(name) for name in algorithms}
                rows.append((
                    comparison.group_name(group), cell.label, exact(target.score), *([target.share] if used else []),
                    f"{len(finite)}/{len(cell.done)}" if cell.done else NONE, _steps(middle), _steps(low), _steps(high),
                    _steps(average), number(time) if math.isfinite(time) else NONE, *map(_steps, theirs.values()),
                    cell.status,
                ))  # fmt: skip
                records.append({
                    **identity(group, cell), "score": target.score, "share": target.share if target.threshold else None,
                    "reached": len(finite), "steps_median": _finite(middle), "steps_min": low, "steps_max": high,
                    "steps_average_curve": _finite(average), "minutes_median": _finite(time),
                    "steps": " ".join(f"{step:.0f}" for step in steps), **_published_columns(target, theirs),
                    "status": cell.status,
                })  # fmt: skip
    columns = ["Environment", "Algorithm", "Score", *(["Share"] if used else []), "Reached", "Median", "Lowest",
               "Highest", "Mean curve", "Minutes", *(f"Published {name}" for name in algorithms), "Status"]  # fmt: skip
    notes = (*_notes(comparison), *_published_notes(comparison, used, numbers))
    title = comparison.heading("training steps to a score")
    return Table("reach", title, tuple(columns), tuple(rows), notes, tuple(records)) if rows else None


def _targets(group: Group, scores: Sequence[float], published: Published, warn: Warn) -> list[Target]:
    known = published.thresholds(base_name(group.env))
    if not scores and not known:
        warn(f"no scores to reach are published for {group.env}; name them by --reach=SCORE[,SCORE...]")
    if not scores:
        return [Target(threshold.score.value, threshold) for threshold in known]
    return [Target(score, next((t for t in known if math.isclose(t.score.value, score)), None)) for score in scores]


def _each_run(runs: Sequence[Run], score: float) -> tuple[Array, Array]:
    """Steps and minutes (runs,) to the score; infinite for a run that never reached it."""
    pairs = np.array([reached(run.evaluations, score) for run in runs], dtype=np.float64).reshape(len(runs), 2)
    return pairs[:, 0], pairs[:, 1]


def _steps(value: float) -> str:
    return f"{value:,.0f}" if math.isfinite(value) else NONE


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _published_columns(target: Target, theirs: dict[str, float]) -> dict[str, object]:
    score = target.threshold.score if target.threshold else None
    return {
        "published_source": f"{score.source}, {score.table}" if score else None,
        "published_env": score.env if score else None,
        **{f"published_steps_{name}": value for name, value in theirs.items()},
    }


def _notes(comparison: Comparison) -> Iterator[str]:
    done = [run for group in comparison.groups for cell in group.cells for run in cell.done]
    gaps = [np.diff(run.evaluations.timesteps) for run in done if len(run.evaluations) > 1]
    episodes = sorted({run.eval_episodes for run in done if run.eval_episodes}, key=lambda n: (len(n), n))
    of = f" of {' or '.join(episodes)} episodes" if episodes else ""
    apart = ""
    if gaps:
        low, high = min(gap.min() for gap in gaps), max(gap.max() for gap in gaps)
        apart = f"; evaluations are {low:,.0f} to {high:,.0f} training steps apart, and nothing is known between them"
    yield (
        "Training steps, and minutes of training time (median), at a run's first evaluation whose mean return"
        f"{of} of the deterministic reported policy is at or above the score{apart}."
    )
    yield (
        "Reached: of the finished runs, the only ones that count. Median: over them, a run that never reached the "
        "score counting as later than all others (– where the middle is such a run). Lowest, Highest: of the runs that "
        "reached it. Mean curve: where the average of the finished runs, interpolated linearly between evaluations, "
        "is first at or above it."
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
        if note := environment_note(env, base_name(env)):
            yield note + "."
