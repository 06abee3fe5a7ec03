"""Figures on paper: a `Plot` drawn by matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from erlbench.reporting.figures import style
from erlbench.reporting.figures.labels import label_ends
from erlbench.reporting.figures.model import ALWAYS, LEVEL, PALETTE, RUN, SOME, Panel, Plot, Series, TaskBars
from erlbench.reporting.figures.style import DASHES, colour_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


LINE = 0.17  # inches of a line of a legend


def draw_plot(plot: Plot, path: Path, formats: Sequence[str]) -> None:
    """Write the panels that a plot has on paper to `path`, with each of the suffixes `formats`."""
    panels = [plot.panels[name] for name in plot.paper]
    with style.new_figure(_height(plot, panels), plot.sheet) as figure:
        axes = _axes(figure, plot, panels)
        drawn = {"timeline": _draw_bars, "columns": _draw_columns, "grid": _draw_grid}.get(plot.kind, _draw_series)
        drawn(figure, axes, panels, plot)
        if plot.title:
            figure.suptitle(plot.title, fontsize=10)
        style.save(figure, path, formats)


def _height(plot: Plot, panels: Sequence[Panel]) -> float:
    """Of the figure, in inches."""
    names = len([series for series in panels[0].series if not series.beside])
    legend = -(-len(panels[0].series) // 3)  # lines of it
    return {
        "curves": max(2.75, 0.9 + 0.15 * names) + _below(plot, panels),
        "profile": 2.6 + 0.17 * legend,
        "columns": 0.6 + 1.7 * len(panels),
        "timeline": 0.8 + sum(0.19 * len(panel.rows) + 0.5 for panel in panels),
        "grid": 0.4 + 1.8 * -(-len(panels) // _columns(plot, panels)),
    }[plot.kind]


def _beside(panels: Sequence[Panel]) -> list[str]:
    """The names in the legend below curves."""
    return list(dict.fromkeys(series.label for panel in panels for series in panel.series if series.beside))


def _below(plot: Plot, panels: Sequence[Panel]) -> float:
    """Inches that this legend needs beyond its first line."""
    names = _beside(panels)
    return LINE * (-(-len(names) // style.legend_columns(names, plot.sheet.width)) - 1) if names else 0.0


def _columns(plot: Plot, panels: Sequence[Panel]) -> int:
    """Of a grid: four panels are two and two."""
    return min(len(panels), plot.sheet.columns or (2 if len(panels) == 4 else 3))


def _axes(figure: Figure, plot: Plot, panels: Sequence[Panel]) -> Any:
    kind = plot.kind
    if kind == "grid":
        columns = _columns(plot, panels)
        grid = figure.subplots(-(-len(panels) // columns), columns, squeeze=False).ravel()
        for empty in grid[len(panels) :]:
            empty.remove()
        return grid[: len(panels)]
    if kind == "curves":
        return figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    heights = [len(panel.rows) + 0.6 for panel in panels]
    return figure.subplots(len(panels), 1, sharex=kind == "columns", squeeze=False, height_ratios=heights)[:, 0]


def _draw_series(figure: Figure, axes: Sequence[Any], panels: Sequence[Panel], plot: Plot) -> None:
    """Curves side by side. Their names stand at the ends of the first panel's, or in a legend below."""
    first = [series for series in panels[0].series if not series.beside]
    groups = {series.group for series in first}
    legend: dict[str, Any] = {}
    for own, panel in zip(axes, panels, strict=True):
        for series in (series for series in panel.series if series.beside or series.group in groups):
            handle = draw_series(own, series, plot.band)
            legend |= {series.label: handle} if series.beside else {}
        finish(own, panel)
    axes[0].set_ylabel(panels[0].y)
    if plot.kind == "curves":
        style.return_axis(axes[0].yaxis)
    ends = [(one.end, f"{style.glyph(one.marker)}{one.label}", colour_of(one.colour)) for one in first]
    label_ends(axes[0], ends, _below(plot, panels))
    if legend:
        columns = style.legend_columns(list(legend), plot.sheet.width)
        figure.legend([*legend.values()], [*legend], loc="outside lower center", ncols=columns)


def _draw_columns(figure: Figure, axes: Sequence[Any], panels: Sequence[Panel], plot: Plot) -> None:
    """Panels below each other, each with its legend to the right."""
    for own, panel in zip(axes, panels, strict=True):
        for series in panel.series:
            draw_series(own, series, plot.band)
        own.set_ylabel(panel.y)
        if any(series.label for series in panel.series):
            own.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    finish(axes[-1], panels[-1])


def _draw_grid(figure: Figure, axes: Sequence[Any], panels: Sequence[Panel], plot: Plot) -> None:
    """A panel for each environment, and one legend below them. An axis is named where its panel has none below it."""
    columns = _columns(plot, panels)
    legend: dict[int, tuple[Any, str]] = {}
    for number, (own, panel) in enumerate(zip(axes, panels, strict=True)):
        for series in panel.series:
            legend.setdefault(series.colour, (draw_series(own, series, plot.band, plot.sheet.palette), series.label))
        finish(own, panel)
        style.return_axis(own.yaxis)
        own.set_title(panel.title)
        own.set_ylabel("" if number % columns else panel.y)
        below = panels[number + columns] if number + columns < len(panels) else None
        own.set_xlabel("" if below and below.x == panel.x else panel.x)
    handles = [legend[number] for number in sorted(legend)]
    figure.legend(*zip(*handles, strict=True), loc="outside lower center", ncols=min(len(handles), 4), handlelength=3.2)


def draw_series(axes: Any, series: Series, band: str, palette: Sequence[str] = PALETTE) -> Any:
    """Single runs thin, their mean and its band, a published level; what a legend shows of them."""
    from matplotlib.collections import LineCollection

    colour, look = colour_of(series.colour, palette), series.look
    if series.runs:
        paths = [np.column_stack((run.x, run.y)) for run in series.runs]
        axes.add_collection(LineCollection(paths, colors=colour, linewidths=RUN.width, alpha=0.45))
        axes.autoscale_view()
    if (edges := series.bands.get(ALWAYS, series.bands.get(band))) is not None and len(series.x):
        hatch = {"hatch": "////", "zorder": 0.5} if look.hatched else {}
        axes.fill_between(series.x, *edges, color=colour, alpha=look.band, linewidth=0, **hatch)
    every = max(1, len(series.x) // SOME)
    marker = series.marker or ("circle" if len(series.x) == 1 else "")
    filled = {"markerfacecolor": "none"} if marker.endswith(style.OPEN) else {}
    (handle,) = axes.plot(
        series.x, series.y, color=colour, linewidth=look.width, linestyle=DASHES[series.dash],
        marker=style.MARKERS.get(marker.removesuffix(style.OPEN), ""), markersize=4, **filled,
        markevery=None if series.symbol else (_first(series.colour, every), every), label=series.label,
        **({"zorder": 0.6} if look.hatched else {}),
    )  # fmt: skip
    if series.level is not None:
        axes.axhline(series.level, color=colour, linewidth=LEVEL.width, linestyle=DASHES[LEVEL.dash])
    return handle


def _first(number: int, every: int) -> int:
    """The point of a curve's first marker, another one for each curve, so that markers do not hide each other."""
    return max(0, number) * max(1, every // 4) % every


def finish(axes: Any, panel: Panel) -> None:
    """Label and ticks of the x-axis, and the limits that a panel has."""
    axes.set_xlabel(panel.x)
    if panel.steps:
        axes.set_xlim(left=0)
        style.steps_axis(axes.xaxis)
    if panel.shares:
        axes.set_ylim(-0.02, 1.02)


def _draw_bars(figure: Figure, axes: Sequence[Any], panels: Sequence[Panel], plot: Plot) -> None:
    """Panels with bars below each other, one legend for all."""
    drawn: dict[str, Any] = {}
    for own, panel in zip(axes, panels, strict=True):
        if panel.end < panel.length:
            own.axvspan(panel.end, panel.length, color="#EDEDED", linewidth=0)
        for bars in panel.bars:
            drawn[bars.label] = _bars(own, bars, panel.length) if len(bars.row) else drawn.get(bars.label)
        for number, (_, busy) in enumerate(panel.rows):
            place = {"transform": own.get_yaxis_transform(), "va": "center", "fontsize": 7.5}
            own.text(1.01, number, f"{100 * busy:.0f} %", **place)
        own.set_title(panel.title, loc="left")
        own.set(xlim=(0, panel.length), ylim=(len(panel.rows) - 0.4, -0.6))
        if len(panel.rows) > 2:
            own.set_ylabel(panel.y)
        own.set_yticks(range(len(panel.rows)), [name for name, _ in panel.rows])
        own.grid(False, axis="y")
        own.tick_params(axis="y", length=0)
    axes[-1].set_xlabel(panels[-1].x)
    drawn = {label: handle for label, handle in drawn.items() if handle is not None}
    figure.legend([*drawn.values()], [*drawn], loc="outside lower center", ncols=4)


def _bars(axes: Any, bars: TaskBars, width: float) -> Any:
    """The bars of one kind, each as high as its busy share; only those that are wide enough have an edge."""
    from matplotlib.collections import PolyCollection

    left, right, half = bars.start, bars.start + bars.length, 0.39 * bars.share
    low, high = bars.row - half, bars.row + half
    corners = np.stack([left, low, right, low, right, high, left, high], axis=1).reshape(-1, 4, 2)
    edges = np.where(bars.length > 3 * width / 800, 0.4, 0.0)
    return axes.add_collection(
        PolyCollection(list(corners), facecolor=colour_of(bars.colour), edgecolor="white", linewidths=edges)
    )
