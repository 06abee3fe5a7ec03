"""The curves of figures as one frame: a row for each mean with its points, its bands and the runs that it is over."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from erlbench.reporting.cells import sample_words
from erlbench.reporting.drawing import GREY, PALETTE, STYLES
from erlbench.reporting.page_cells import PageCells
from erlbench.reporting.published import (
    base_name,
    comparable,
    find_references,
    find_thresholds,
    points_over_generations,
)
from erlbench.reporting.statistics import Points, band_kind, band_words, group_items, mean_curve, points
from erlbench.words import counted

# Columns of the frame: `label` in legends; `group`, which legends show and hide at once; `look` of `drawing.LOOKS`;
# `number`, from which colour, dash and marker follow, or `GREY`; `colour` that a style file names; `symbol`: a marker
# at each point; `averaged` seeds; `level`: a published mean; `note`: whose they are; `x`, `y` and the edges of the band
# (points,); `runs`: name, x and y of each single run.
CURVE = {"panel": "", "label": "", "group": "", "name": "", "look": "curve", "number": 0, "colour": "", "symbol": "",
         "averaged": 1, "level": np.nan, "note": "", "low": np.empty(0), "high": np.empty(0), "runs": ()}  # fmt: skip
NUMBERED, SYMBOLS = STYLES["numbered"], STYLES["published"]
Curve = dict[str, Any]
RunPoints = list[tuple[Any, Points]]


def curve_frame(curves: Iterable[Curve]) -> pd.DataFrame:
    """A row for each curve; what it does not say is as in `CURVE`."""
    return pd.DataFrame([CURVE | curve for curve in curves])


def colour_numbers(names: Iterable[str]) -> dict[str, int]:
    """A number of the palette for each name: its usual one, else the next that is free, else one of another round.

    Names that are not listed have a usual number, too, and give way to those that are.
    """
    wanted = {name: NUMBERED.index(name) if name in NUMBERED else zlib.crc32(name.encode()) for name in names}
    colours, numbers = len(PALETTE), dict[str, int]()
    for name in sorted(wanted, key=lambda name: (name not in NUMBERED, wanted[name] if name in NUMBERED else 0, name)):
        first = len(numbers) // colours * colours
        places = (first + (wanted[name] + turn) % colours for turn in range(colours))
        numbers[name] = next(number for number in places if number not in numbers.values())
    return {name: numbers[name] for name in wanted}


def run_points(tables: Iterable[tuple[Any, Any]], x: str, y: str = "return_mean", smooth: int = 1) -> RunPoints:
    """Runs with their points, of those that have some; `tables` are runs with what has the columns `x` and `y`."""
    columns = [(run, *(np.asarray(rows[name], np.float64) for name in (x, y))) for run, rows in tables]
    return [(run, curve) for run, xs, ys in columns if len((curve := points(xs, ys, smooth))[0])]


def mean_of_runs(runs: RunPoints, band: str) -> Curve:
    """The mean over finished runs, or without any over all, with a band where it is over several, and single runs."""
    over = [pair for pair in runs if pair[0].done] or runs
    curve, single = mean_curve([(run.seed, xy) for run, xy in over], band == "interval"), len(over) == 1
    names = {run.path: f"seed {run.seed}" + ("" if run.status == "done" else f" ({run.status})") for run, _ in runs}
    return {
        **({name: curve[name] for name in "xy"} if single else curve),
        "averaged": len({run.seed for run, _ in over}),
        "runs": [(names[run.path], *xy) for run, xy in runs if not (single and run is over[0][0])],
    }


def cell_curve(cell: Any, runs: RunPoints, band: str) -> Curve:
    """The curve of a cell by the evaluations of its runs."""
    seeds, done = ({run.seed for run, _ in chosen} for chosen in (runs, [pair for pair in runs if pair[0].done]))
    words = sample_words(len(seeds), len(runs), cell.planned)
    words += f", {len(seeds - done)} unfinished" if seeds - done else ""
    return {**mean_of_runs(runs, band), "label": f"{cell.label} ({words})", "group": cell.label, "name": cell.name}


def reference_curves(cells: Sequence[Any], numbers: Mapping[str, int], last: float) -> list[Curve]:
    """Of each algorithm the runs of the first comparable source: their mean and band, as far as our longest run."""
    curves = {}
    for cell in cells:
        theirs = next(iter(find_references(cell)), None)
        if theirs is None or id(theirs) in curves:
            continue
        runs = [(steps[steps <= last], returns[steps <= last]) for steps, returns in theirs.runs]
        if max(len(steps) for steps, _ in runs) < 2:
            continue
        kind = band_kind([len(runs)])
        label = f"{theirs.algorithm}, {theirs.source} ({counted(len(runs), 'run')})"
        curves[id(theirs)] = {
            **mean_curve([*enumerate(runs)], kind == "interval"),
            "label": label,
            "group": label,
            "number": numbers[cell.name],
            "look": "reference",
            "averaged": len(runs),
            "note": f"{label}, {theirs.returns}, on {theirs.env}, {band_words(kind)}",
        }
    return [*curves.values()]


def published_curves(page: PageCells, group: Any, axis: str, numbers: Mapping[str, int], last: float) -> list[Curve]:
    """The points of the page's source, as far as our longest run.

    Over steps: at which each of its algorithms reached scores. Over generations: the curves of our cells, in their
    colours. The study says which environment they are of; what its profile sets there is part of that.
    """
    env, sets = group.env.partition(" (")[0], list[tuple[Any, ...]]()
    if axis == "timesteps":
        scores = [one for one in find_thresholds(base_name(group.env)) if one.score.source == page.source]
        reached = group_items((own.algorithm, (own.value, one.score.value)) for one in scores for own in one.steps)
        sets = [(*curve, GREY, symbol) for curve, symbol in zip(reached.items(), SYMBOLS, strict=False)]
    elif axis == "generation" and comparable(env, group.env_published):
        for cell in (one for one in group.cells if one.runs):
            own = points_over_generations(page.source, page.table, group.env_published, cell.published)
            sets.append((cell.label, own, numbers[cell.name], "square-open"))
    return [
        {"label": f"{name}, published", "group": name, "look": "published", "x": near[:, 0], "y": near[:, 1],
         "number": number, "symbol": symbol, "note": f"{name} (open {SYMBOLS[symbol]}), {page.source}"}
        for name, own, number, symbol in sets
        if len(near := np.array([point for point in own if point[0] <= last], np.float64))
    ]  # fmt: skip
