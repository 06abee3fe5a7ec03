"""The lines of figures as one tidy frame: runs, their means and bands, published points and other people's runs."""

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
from erlbench.reporting.data.comparison import Comparison, Group, RunSet, with_runs
from erlbench.reporting.data.published import Published
from erlbench.reporting.data.references import ReferenceRuns
from erlbench.reporting.data.remarks import Warn
from erlbench.reporting.data.runs import StoredRun
from erlbench.reporting.data.seeds import sample_words
from erlbench.reporting.drawing import GREY, PALETTE
from erlbench.reporting.statistics.curves import MOST_POINTS, Points, band_kind, band_words, mean_curve, points
from erlbench.reporting.statistics.estimates import FEWEST_RUNS
from erlbench.words import counted

# Of a frame: the line's panel, label in legends, and group, which legends show and hide at once; `look`: of
# `drawing.LOOKS`; `run`: of a single run, empty for a mean over `averaged` seeds; `number`, from which colour, dash and
# marker follow, or `GREY`; `colour` that a style file names; `symbol`: a marker at each point; `level`: a published
# mean; `note`: where it is from. Then its points, and the number of the line.
LINE = {"panel": "", "label": "", "group": "", "name": "", "look": "curve", "run": "", "number": 0, "colour": "",
        "symbol": "", "averaged": 1, "level": np.nan, "note": ""}  # fmt: skip
POINT = ("x", "y", "low", "high", "interval_low", "interval_high")
SYMBOLS = {"square-open": "squares", "diamond-open": "diamonds", "triangle-up-open": "triangles",
           "triangle-down-open": "triangles"}  # fmt: skip
# Algorithms that are compared most have the colours that differ most.
NUMBERED = (
    *("td3", "cem-rl", "sac", "aes-rl", "cem", "p-cem-rl", "openai-es", "erl", "esac", "cma-es", "ddpg", "ppo", "trpo"),
    *("multi-actor-td3", "nevergrad", "snes", "pgpe", "ars", "ga", "crossq"),
)
Line = dict[str, Any]
Drawn = list[tuple[RunSet, list[tuple[StoredRun, Points]]]]  # run sets with their runs that have a point on an axis


def tidy(lines: Iterable[Line]) -> pd.DataFrame:
    """A row for each point of each line; a line without points has one, of NaN."""
    lines = list(lines)
    counts = [max(1, len(line["x"])) for line in lines]
    columns = {
        name: np.repeat(np.array([line.get(name, usual) for line in lines], object), counts)
        for name, usual in LINE.items()
    }
    for name in POINT:
        nothing = [np.full(count, np.nan) for count in counts]
        values = [line[name] if len(line.get(name, ())) else nan for line, nan in zip(lines, nothing, strict=True)]
        columns[name] = np.concatenate(values) if values else np.empty(0)
    columns["line"] = np.repeat(np.arange(len(lines)), counts)
    return pd.DataFrame(columns).astype({"number": int, "averaged": int, "level": float})


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


def averaged(run_set: RunSet) -> tuple[StoredRun, ...]:
    """The runs that the mean is over: the finished ones, without any of these all."""
    return run_set.done or run_set.runs


def drawable(axis: str, run_sets: Sequence[RunSet]) -> tuple[list[RunSet], str]:
    """The run sets with those of their runs that an axis can show, and a note on the others, or an empty text."""
    if AXES[axis].column != "seconds":
        return list(run_sets), ""
    timed, left_out = with_runs(run_sets, _is_timed)
    return timed, (
        f"Not drawn over training time: {', '.join(dict.fromkeys(left_out))}. Other cells of the command ran on the "
        "cores of these runs, so that their minutes do not count; `--jobs 1` runs one cell at a time."
        if left_out
        else ""
    )


def _is_timed(run: StoredRun) -> bool:
    return run.timed


def points_on(axis: str, group: Group, smooth: int, zero: bool) -> Drawn:
    """The returns of a group's evaluations over an axis; with `zero` also of runs that never leave its zero."""
    drawn = []
    for run_set in drawable(axis, group.run_sets)[0]:
        runs = []
        for run in run_set.runs:
            curve = points(getattr(run.evaluations, AXES[axis].column), run.evaluations.return_mean, smooth)
            if len(curve[0]) and (zero or curve[0][-1] > 0):
                runs.append((run, curve))
        if runs:
            drawn.append((run_set, runs))
    return drawn


def evaluation_lines(drawn: Drawn, numbers: Mapping[str, int], levels: Mapping[str, float], most: int) -> list[Line]:
    """The mean of each run set over its finished runs, with bands, and each run that is not itself the mean."""
    lines = []
    for run_set, runs in drawn:
        mean = [pair for pair in runs if pair[0].done] or runs
        curve = mean_curve([(run.seed, own) for run, own in mean], len(run_set.seeds) >= FEWEST_RUNS, most)
        if len(mean) == 1:
            curve = {name: curve[name] for name in ("x", "y")}  # no band
        same = {"label": f"{run_set.label} ({_seeds(run_set)})", "group": run_set.label, "name": run_set.name,
                "number": numbers[run_set.name]}  # fmt: skip
        seeds = len({run.seed for run, _ in mean})
        lines.append({**same, **curve, "averaged": seeds, "level": levels.get(run_set.name, np.nan)})
        for run, (x, y) in runs:
            if len(mean) > 1 or run is not mean[0][0]:
                status = "" if run.status == "done" else f" ({run.status})"
                lines.append({**same, "run": f"seed {run.seed}{status}", "x": x, "y": y})
    return lines


def _seeds(run_set: RunSet) -> str:
    evaluated = [run.seed for run in run_set.runs if len(run.evaluations)]
    count = len({*evaluated})
    unfinished = count - len(run_set.seeds)
    text = sample_words(count, len(evaluated), run_set.planned)
    return text + (f", {unfinished} unfinished" if unfinished else "")


def training_points(run_sets: Sequence[RunSet]) -> dict[str, Drawn]:
    """The training returns of unfinished runs without an evaluation to draw, by the axes that episodes.csv has."""
    drawn: dict[str, Drawn] = {}
    for run_set in run_sets:
        for run in run_set.runs:
            if run.done or len(run.evaluations) >= 2:
                continue
            for axis, curve in _training(run).items():
                sets = drawn.setdefault(axis, [])
                if not sets or sets[-1][0] is not run_set:
                    sets.append((run_set, []))
                sets[-1][1].append((run, curve))
    return drawn


def _training(run: StoredRun) -> dict[str, Points]:
    """One run's training returns by axis; empty without an episode."""
    rows = read_rows(run.path, EpisodeRow)
    if rows is None or rows.empty:
        return {}
    rows = running_means(rows)
    rows["episodes"] = np.arange(1.0, len(rows) + 1)
    rows = rows.iloc[thinned(len(rows), MOST_POINTS)]
    axes = {"timesteps": "timesteps", "time": "t", "episodes": "episodes"}
    curves = {
        axis: points(rows[column].to_numpy(np.float64), rows["mean"].to_numpy(np.float64))
        for axis, column in axes.items()
    }
    return {axis: curve for axis, curve in curves.items() if len(curve[0])}


def training_lines(drawn: Drawn, numbers: Mapping[str, int]) -> list[Line]:
    """The mean over the runs of each run set as far as the shortest goes, and each of them, where there are several."""
    lines = []
    for run_set, runs in drawn:
        states = Counter(run.status for run in run_set.runs if not run.done)
        label = f"{run_set.label}, training ({', '.join(f'{count} {state}' for state, count in states.items())})"
        same = {"label": label, "group": label, "name": run_set.name, "number": numbers[run_set.name],
                "look": "training"}  # fmt: skip
        curve = mean_curve([(number, own) for number, (_, own) in enumerate(runs)])
        lines.append({**same, "x": curve["x"], "y": curve["y"], "averaged": len(runs)})
        if len(runs) > 1:
            lines += [
                {**same, "run": f"seed {run.seed} ({run.status}), training", "x": x, "y": y} for run, (x, y) in runs
            ]
    return lines


def published_levels(comparison: Comparison, group: Group, published: Published) -> dict[str, float]:
    """The published means that may be drawn beside our curves, by the names of their run sets."""
    if not comparable(group.env, group.env_published):
        return {}
    levels = {}
    for run_set in group.run_sets:
        number = published.find(comparison.source, comparison.table, group.env_published, run_set.published, "mean")
        if number and similar_budget(group.total_timesteps, number.steps):
            levels[run_set.name] = number.value
    return levels


def reference_lines(run_sets: Sequence[RunSet], numbers: Mapping[str, int], published: Published) -> list[Line]:
    """Of each algorithm the runs of the first comparable source: their mean and band, as far as our longest run."""
    last = _last(run_sets, "timesteps")
    lines: list[Line] = []
    drawn: list[ReferenceRuns] = []
    for run_set in run_sets:
        theirs = next(iter(published.references.of(run_set)), None)
        if theirs is None or any(theirs is other for other in drawn):
            continue
        runs = [(steps[steps <= last], returns[steps <= last]) for steps, returns in theirs.runs]
        if max(len(steps) for steps, _ in runs) < 2:
            continue
        drawn.append(theirs)
        kind = band_kind([len(runs)])
        label = f"{theirs.algorithm}, {theirs.source.name} ({counted(len(runs), 'run')})"
        note = f"{label}, {theirs.returns}, on {theirs.env}, {band_words(kind)}"
        curve = one_band(mean_curve([*enumerate(runs)], interval=True), kind)
        lines.append({"label": label, "group": label, "number": numbers[run_set.name], "look": "reference",
                      "averaged": len(runs), "note": note, **curve})  # fmt: skip
    return lines


def one_band(curve: Line, kind: str) -> Line:
    """The curve with the same band whatever kind its figure has."""
    prefix = "interval_" if kind == "interval" and "interval_low" in curve else ""
    low, high = curve[f"{prefix}low"], curve[f"{prefix}high"]
    return {**curve, "low": low, "high": high, "interval_low": low, "interval_high": high}


def published_points(comparison: Comparison, group: Group, published: Published) -> list[Line]:
    """By algorithm the steps at which it reached scores in the page's source, as far as our longest run."""
    last = _last(group.run_sets, "timesteps")
    thresholds = [one for one in published.thresholds(base_name(group.env)) if one.score.source == comparison.source]
    names = dict.fromkeys(steps.algorithm for one in thresholds for steps in one.steps)
    lines = []
    for name, symbol in zip(names, SYMBOLS, strict=False):
        reached = [
            (steps.value, one.score.value) for one in thresholds for steps in one.steps
            if steps.algorithm == name and steps.value <= last
        ]  # fmt: skip
        if reached:
            (x, y), score = np.array(reached, np.float64).T, thresholds[0].score
            lines.append({"label": f"{name}, published", "group": name, "x": x, "y": y, "number": GREY,
                          "look": "published", "symbol": symbol, "note": f"{score.source}, {score.table}"})  # fmt: skip
    return lines


def published_generations(
    comparison: Comparison, group: Group, numbers: Mapping[str, int], published: Published
) -> list[Line]:
    """The published curves of our run sets over generations, in their colours, as far as our longest run.

    The study says which environment they are of; what its profile sets there is part of that.
    """
    if not comparable(group.env.partition(" (")[0], group.env_published):
        return []
    last = _last(group.run_sets, "generation")
    where = comparison.source, comparison.table, group.env_published
    lines = []
    for run_set in group.run_sets:
        curve = published.over_generations(*where, run_set.published) if run_set.runs else []
        reached = [(generation, number.value) for generation, number in curve if generation <= last]
        if reached:
            x, y = np.array(reached, np.float64).T
            lines.append({"label": f"{run_set.label}, published", "group": run_set.label, "x": x, "y": y,
                          "number": numbers[run_set.name], "look": "published", "symbol": "square-open",
                          "note": f"{comparison.source}, {comparison.table}"})  # fmt: skip
    return lines


def _last(run_sets: Sequence[RunSet], column: str) -> float:
    """The end of the longest run; 0 where none has an evaluation."""
    ends = (getattr(run.evaluations, column) for run_set in run_sets for run in run_set.runs)
    return max((float(values[-1]) for values in ends if len(values)), default=0.0)


def column_points(run_set: RunSet, columns: Sequence[str], axis: str, smooth: int, warn: Warn) -> pd.DataFrame:
    """Of each run that the mean is over, seed and points of the columns of train.csv without empty and NaN cells."""
    over, found = AXES[axis].train_column, []
    for run in averaged(run_set):
        rows = read_rows(run.path, GenerationRow, warn)
        if rows is None:
            continue
        rows = rows.reindex(columns=[over, *columns]).astype(np.float64)  # NaN where the algorithm has no such column
        for column in columns:
            curve = points(rows[over].to_numpy(), rows[column].to_numpy(), smooth)
            if len(curve[0]):
                found.append((column, run.seed, curve))
    return pd.DataFrame(found, columns=["column", "seed", "points"])


def column_lines(
    run_sets: Sequence[RunSet], columns: Sequence[str], curves: Mapping[str, pd.DataFrame], kind: str
) -> list[Line]:
    """The mean of each of the columns for each run set, by its name in `curves` (`column_points`)."""
    numbers, lines = colour_numbers(run_set.name for run_set in run_sets), []
    for index, (run_set, column) in enumerate((run_set, column) for run_set in run_sets for column in columns):
        known = curves[run_set.name]
        known = known[known.column == column]
        curve = mean_curve([*zip(known.seed, known.points, strict=True)], kind == "interval")
        words = (run_set.label if len(run_sets) > 1 else "", column if len(columns) > 1 else "")
        label = " ".join(filter(None, words))
        if len(curve["x"]):
            number = numbers[run_set.name] if len(columns) == 1 else index
            lines.append({"label": label, "group": label, "number": number, **one_band(curve, kind)})
    return lines
