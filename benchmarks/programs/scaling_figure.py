"""The figure of `benchmarks.programs.scaling`: what was measured over its bound, on logarithmic axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from erlbench.reporting.figures import style

DECADE = 10


@dataclass(frozen=True)
class Curve:
    """What was measured, and what bounds it or would be expected; arrays (sizes,), NaN where there is nothing."""

    label: str
    measured: np.ndarray
    bound: np.ndarray


@dataclass(frozen=True)
class Panel:
    """Curves over sizes."""

    title: str
    axis: str
    unit: str
    sizes: Sequence[int]
    curves: tuple[Curve, ...]
    bound: str  # what the curves' bounds are
    labels: Sequence[str] = ()  # of the sizes, when they are not the numbers

    @property
    def ticks(self) -> list[str]:
        """A label for each size."""
        return list(self.labels) or [str(size) for size in self.sizes]

    @property
    def bounds(self) -> list[tuple[str, np.ndarray]]:
        """The bounds with their names; one where all curves have the same."""
        first = self.curves[0].bound
        if all(np.array_equal(curve.bound, first) for curve in self.curves):
            return [(self.bound, first)]
        return [(f"{curve.label}: {self.bound}", curve.bound) for curve in self.curves]


def draw(panels: Sequence[Panel], path: Path) -> None:
    """Write the figure of the panels, two to a row, to `path`, whose suffix is one of `style.FORMATS`."""
    rows = -(-len(panels) // 2)
    with style.new_figure(style.WIDTH, 2.7 * rows) as figure:
        places = list(figure.subplots(rows, 2, squeeze=False).flat)
        for letter, axes, panel in zip("abcdefgh", places, panels, strict=False):
            _draw(axes, panel)
            axes.set_title(f"({letter}) {panel.title}", loc="left")
        for axes in places[len(panels) :]:
            axes.set_axis_off()
        style.save(figure, path.with_suffix(""), (path.suffix[1:],))


def _draw(axes: Any, panel: Panel) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    for index, curve in enumerate(panel.curves):
        look = {**style.line_style(index), "marker": "o", "markersize": 3.5}
        axes.plot(panel.sizes, curve.measured, label=curve.label, **look)
    bounds = panel.bounds
    for index, (_, bound) in enumerate(bounds):
        colour = style.PALETTE[index] if len(bounds) > 1 else style.GREY
        label = panel.bound if index == 0 else None
        axes.plot(panel.sizes, bound, color=colour, linestyle="--", linewidth=1.0, label=label, zorder=1)
    axes.set(xscale="log", yscale="log", xlabel=panel.axis, ylabel=panel.unit)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks(panel.sizes, panel.ticks)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    low, high = axes.get_ylim()
    if high < DECADE * low:  # one label would be left
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 4)))
    legend = axes.legend()
    if len(bounds) > 1:
        legend.legend_handles[len(panel.curves)].set_color(style.GREY)  # of all floors, not the first's alone
