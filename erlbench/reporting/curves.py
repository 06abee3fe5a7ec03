"""The curves of figures as one frame: a row for each mean with its points, its bands and the runs that it is over."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from erlbench.records.axes import AXES
from erlbench.records.read import read_rows
from erlbench.records.schema import EpisodeRow, GenerationRow
from erlbench.records.training import running_means, thinned
from erlbench.reporting.data.comparability import base_name, comparable, similar_budget
from erlbench.reporting.data.page_cells import PageCells
from erlbench.reporting.data.published import Published
from erlbench.reporting.data.remarks import Warn
from erlbench.reporting.data.seeds import sample_words
from erlbench.reporting.drawing import GREY, PALETTE
from erlbench.reporting.statistics.curves import MOST_POINTS, Points, band_kind, band_words, mean_curve, points
from erlbench.reporting.statistics.estimates import FEWEST_RUNS
from erlbench.words import counted

# Columns of the frame: `label` in legends; `group`, which legends show and hide at once; `look` of `drawing.LOOKS`;
# `number`, from which colour, dash and marker follow, or `GREY`; `colour` that a style file names; `symbol`: a marker
# at each point; `averaged` seeds; `level`: a published mean; `note`: where it is from; `x`, `y` and the edges of bands
# (points,); `runs`: name, x and y of each single run.
CURVE = {"panel": "", "label": "", "group": "", "name": "", "look": "curve", "number": 0, "colour": "", "symbol": "",
         "averaged": 1, "level": np.nan, "note": "", "runs": ()}  # fmt: skip
EDGES = ("low", "high", "interval_low", "interval_high")
SYMBOLS = {"square-open": "squares", "diamond-open": "diamonds", "triangle-up-open": "triangles",
           "triangle-down-open": "triangles"}  # fmt: skip
# Algorithms that are compared most have the colours that differ most.
NUMBERED = (
    *("td3", "cem-rl", "sac", "aes-rl", "cem", "p-cem-rl", "openai-es", "erl", "esac", "cma-es", "ddpg", "ppo", "trpo"),
    *("multi-actor-td3", "nevergrad", "snes", "pgpe", "ars", "ga", "crossq", "evorainbow-exp", "pderl"),
)
Curve = dict[str, Any]
RunPoints = list[tuple[Any, Points]]
Drawn = list[tuple[Any, RunPoints]]  # run sets with their runs that have a point on an axis


def curve_frame(curves: Iterable[Curve]) -> pd.DataFrame:
    """A row for each curve; what it does not say is as in `CURVE`, and edges without values are empty."""
    return pd.DataFrame([CURVE | dict.fromkeys(EDGES, np.empty(0)) | curve for curve in curves])


def colour_numbers(names: Iterable[str]) -> dict[str, int]:
    """A number of the palette for each name: its usual one, else the next that is free, else one of another round.

    Names that are not listed have a usual number, too, and give way to those that are.
    """
    wanted = {name: NUMBERED.index(name) if name in NUMBERED else zlib.crc32(name.encode()) for name in names}
    order = sorted(wanted, key=lambda name: (name not in NUMBERED, wanted[name] if name in NUMBERED else 0, name))
    numbers: dict[str, int] = {}
    for name in order:
        usual, round_ = wanted[name] % len(PALETTE), len(numbers) // len(PALETTE) * len(PALETTE)
        places = [round_ + (usual + turn) % len(PALETTE) for turn in range(len(PALETTE))]
        numbers[name] = next(number for number in places if number not in numbers.values())
    return {name: numbers[name] for name in wanted}


def averaged(run_set: Any) -> tuple[Any, ...]:
    """The runs that the mean is over: the finished ones, without any of these all."""
    return run_set.done or run_set.runs


def untimed_note(run_sets: Sequence[Any]) -> str:
    """A note on runs that no axis of time can show; empty without any."""
    left_out: dict[str, None] = {}
    for run_set in run_sets:
        if seeds := [str(run.seed) for run in run_set.runs if len(run.evaluations) and not run.timed]:
            some = any(run.timed for run in run_set.runs)
            left_out[f"{run_set.label} (seed {', '.join(seeds)})" if some else run_set.label] = None
    if not left_out:
        return ""
    return (
        f"Not drawn over training time: {', '.join(left_out)}. Other cells of the command ran on the cores of these "
        "runs, so that their minutes do not count; `--jobs 1` runs one cell at a time."
    )


def mean_of_runs(runs: RunPoints, mean: RunPoints, interval: bool = False, most: int = MOST_POINTS) -> Curve:
    """The mean over the runs `mean`, with bands where they are several, and each run that is not itself the mean."""
    curve = mean_curve([(run.seed, xy) for run, xy in mean], interval, most)
    single = len(mean) == 1
    names = {run.path: f"seed {run.seed}" + ("" if run.status == "done" else f" ({run.status})") for run, _ in runs}
    return {
        **(({"x": curve["x"], "y": curve["y"]}) if single else curve),
        "averaged": len({run.seed for run, _ in mean}),
        "runs": [(names[run.path], *xy) for run, xy in runs if not (single and run is mean[0][0])],
    }


def evaluation_points(axis: str, group: Any, smooth: int, zero: bool) -> Drawn:
    """The returns of a group's evaluations over an axis; with `zero` also of runs that never leave its zero."""
    drawn = []
    for run_set in group.cells:
        curves = [(run, points(getattr(run.evaluations, AXES[axis].column), run.evaluations.return_mean, smooth))
                  for run in run_set.runs]  # fmt: skip
        if shown := [(run, xy) for run, xy in curves if len(xy[0]) and (zero or xy[0][-1] > 0)]:
            drawn.append((run_set, shown))
    return drawn


def evaluation_curves(drawn: Drawn, numbers: Mapping[str, int], levels: Mapping[str, float], most: int) -> list[Curve]:
    """The mean of each run set over its finished runs, or without any over all."""
    curves = []
    for run_set, runs in drawn:
        mean = [pair for pair in runs if pair[0].done]
        seeds, done = ({run.seed for run, _ in one} for one in (runs, mean))
        words = sample_words(len(seeds), len(runs), run_set.planned)
        words += f", {len(seeds - done)} unfinished" if seeds - done else ""
        curves.append({
            "label": f"{run_set.label} ({words})", "group": run_set.label, "name": run_set.name,
            "number": numbers[run_set.name], "level": levels.get(run_set.name, np.nan),
            **mean_of_runs(runs, mean or runs, len(done) >= FEWEST_RUNS, most),
        })  # fmt: skip
    return curves


def training_points(run_sets: Sequence[Any]) -> dict[str, Drawn]:
    """The training returns of unfinished runs without an evaluation to draw, by the axes that episodes.csv has."""
    drawn: dict[str, Drawn] = {}
    for run_set in run_sets:
        axes: dict[str, RunPoints] = {}
        for run in run_set.runs:
            rows = None if run.done or len(run.evaluations) >= 2 else read_rows(run.path, EpisodeRow)
            if rows is None or rows.empty:
                continue
            rows = running_means(rows).assign(episodes=np.arange(1.0, len(rows) + 1))
            rows = rows.iloc[thinned(len(rows), MOST_POINTS)].astype({"timesteps": float, "mean": float})
            for axis, column in {"timesteps": "timesteps", "time": "t", "episodes": "episodes"}.items():
                curve = points(rows[column].to_numpy(), rows["mean"].to_numpy())
                if len(curve[0]):
                    axes.setdefault(axis, []).append((run, curve))
        for axis, runs in axes.items():
            drawn.setdefault(axis, []).append((run_set, runs))
    return drawn


def training_curves(drawn: Drawn, numbers: Mapping[str, int]) -> list[Curve]:
    """The mean over the runs of each run set as far as the shortest goes."""
    curves = []
    for run_set, runs in drawn:
        states = Counter(run.status for run in run_set.runs if not run.done)
        label = f"{run_set.label}, training ({', '.join(f'{count} {state}' for state, count in states.items())})"
        curves.append({"label": label, "group": label, "name": run_set.name, "number": numbers[run_set.name],
                       "look": "training", **mean_of_runs(runs, runs)})  # fmt: skip
    return curves


def published_levels(comparison: PageCells, group: Any, published: Published) -> dict[str, float]:
    """The published means that may be drawn beside our curves, by the names of their run sets."""
    if not comparable(group.env, group.env_published):
        return {}
    levels = {}
    for run_set in group.cells:
        number = published.find(comparison.source, comparison.table, group.env_published, run_set.published, "mean")
        if number and similar_budget(group.total_timesteps, number.steps):
            levels[run_set.name] = number.value
    return levels


def reference_curves(run_sets: Sequence[Any], numbers: Mapping[str, int], published: Published) -> list[Curve]:
    """Of each algorithm the runs of the first comparable source: their mean and band, as far as our longest run."""
    last, curves = _last(run_sets, "timesteps"), {}
    for run_set in run_sets:
        theirs = next(iter(published.find_references(run_set)), None)
        if theirs is None or id(theirs) in curves:
            continue
        runs = [(steps[steps <= last], returns[steps <= last]) for steps, returns in theirs.runs]
        if max(len(steps) for steps, _ in runs) < 2:
            continue
        kind = band_kind([len(runs)])
        label = f"{theirs.algorithm}, {theirs.source} ({counted(len(runs), 'run')})"
        curve = mean_curve([*enumerate(runs)], kind == "interval")
        edges = [curve[f"{'interval_' * (kind == 'interval')}{edge}"] for edge in ("low", "high")]
        curves[id(theirs)] = {
            **curve, **dict(zip(EDGES, edges * 2, strict=True)),  # the same band whatever kind its figure has
            "label": label, "group": label, "number": numbers[run_set.name], "look": "reference",
            "averaged": len(runs), "note": f"{label}, {theirs.returns}, on {theirs.env}, {band_words(kind)}",
        }  # fmt: skip
    return [*curves.values()]


def published_curves(
    comparison: PageCells, group: Any, axis: str, numbers: Mapping[str, int], published: Published
) -> list[Curve]:
    """The points of the page's source, as far as our longest run.

    Over steps: at which each of its algorithms reached scores. Over generations: the curves of our run sets, in their
    colours. The study says which environment they are of; what its profile sets there is part of that.
    """
    last, env, curves = _last(group.cells, AXES[axis].column), group.env.partition(" (")[0], []
    where = comparison.source, comparison.table, group.env_published
    if axis == "timesteps":
        known = [one for one in published.thresholds(base_name(group.env)) if one.score.source == comparison.source]
        names = dict.fromkeys(steps.algorithm for one in known for steps in one.steps)
        for name, symbol in zip(names, SYMBOLS, strict=False):
            reached = [
                (steps.value, one.score.value) for one in known for steps in one.steps if steps.algorithm == name
            ]
            curves.append((name, reached, GREY, symbol, known[0].score.table))
    elif axis == "generation" and comparable(env, group.env_published):
        for run_set in (one for one in group.cells if one.runs):
            reached = [(x, number.value) for x, number in published.over_generations(*where, run_set.published)]
            curves.append((run_set.label, reached, numbers[run_set.name], "square-open", comparison.table))
    return [
        {"label": f"{name}, published", "group": name, "look": "published", "x": near[:, 0], "y": near[:, 1],
         "number": number, "symbol": symbol, "note": f"{comparison.source}, {table}"}
        for name, reached, number, symbol, table in curves
        if len(near := np.array([point for point in reached if point[0] <= last], np.float64))
    ]  # fmt: skip


def _last(run_sets: Sequence[Any], column: str) -> float:
    """The end of the longest run; 0 where none has an evaluation."""
    ends = (getattr(run.evaluations, column) for run_set in run_sets for run in run_set.runs)
    return max((float(values[-1]) for values in ends if len(values)), default=0.0)


def column_points(run_set: Any, columns: Sequence[str], axis: str, smooth: int, warn: Warn) -> dict[str, RunPoints]:
    """Of each run that the mean is over, the points of the columns of train.csv without empty and NaN cells."""
    over, curves = AXES[axis].train_column, dict[str, RunPoints]()
    for run in averaged(run_set):
        rows = read_rows(run.path, GenerationRow, warn) if run.timed or axis != "time" else None
        if rows is None:
            continue
        rows = rows.reindex(columns=[over, *columns]).astype(np.float64)  # NaN where the algorithm has no such column
        for column in columns:
            curve = points(rows[over].to_numpy(), rows[column].to_numpy(), smooth)
            if len(curve[0]):
                curves.setdefault(column, []).append((run, curve))
    return curves
