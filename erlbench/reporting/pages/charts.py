"""The charts of `index.html`: plots as JSON, which the page's script draws.

Every list stands once in the page, however many charts show it. A chart names it by its index.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from erlbench.reporting.data.runs import Array
from erlbench.reporting.documents.model import Chart
from erlbench.reporting.figures.axis import AXES
from erlbench.reporting.figures.model import DARK, PALETTE, RUN, SOME, Panel, Plot, RunLine, Series, TaskBars

POINTS = 60  # of a curve
RUN_POINTS = 40  # of a single run
MOST_RUNS = 1000  # single runs of a page, about; of more each figure shows a share
DIGITS = 5
PLOTLY = {"shortdash": "4px,2px"}  # dashes for which Plotly has no name


class ChartData:
    """What the charts of one page share: the page has `runs` runs."""

    def __init__(self, runs: int = 0) -> None:
        self.lists: list[list[Any]] = []
        self._index: dict[object, int] = {}
        self._share = min(1.0, MOST_RUNS / max(1, runs))  # of the single runs

    def shared(self) -> dict[str, Any]:
        """The axes that a reader can choose, the palette, and the lists, as JSON knows them."""
        axes = {name: {"label": axis.label, "note": axis.note} for name, axis in AXES.items()}
        palette = {"light": PALETTE, "dark": DARK, "single": RUN.width, "markers": SOME}
        return {"axes": axes, "palette": palette, "share": self._share, "lists": self.lists}

    def chart(self, plot: Plot) -> Chart:
        """A plot with all of its panels."""
        panels = {name: self._panel(panel) for name, panel in plot.panels.items()}
        return Chart(plot.kind, {"first": plot.paper[0], "band": plot.band, "panels": panels})

    def _panel(self, panel: Panel) -> dict[str, Any]:
        return _some(
            x=panel.x, y=panel.y, title=panel.title, shares=panel.shares, series=list(map(self._series, panel.series)),
            rows=[[name, *_round(np.array([busy]))] for name, busy in panel.rows],
            bars=[_bars(bars) for bars in panel.bars if len(bars.row)],
        )  # fmt: skip

    def _series(self, series: Series) -> dict[str, Any]:
        keep = _kept(len(series.x), POINTS)
        return _some(
            label=series.label, group=series.group, symbol=series.marker, every=bool(series.symbol),
            level=series.level, colour=series.colour, dash=PLOTLY.get(series.dash, series.dash),
            width=series.look.width, fade=series.look.band, averaged=series.averaged,
            x=self._numbers(series.x[keep]), y=self._numbers(series.y[keep]), runs=self._runs(series.runs),
            bands={kind: [self._numbers(edge[keep]) for edge in band] for kind, band in series.bands.items()},
        )  # fmt: skip

    def _runs(self, runs: Sequence[RunLine]) -> list[int]:
        """The lists of the runs' names, of the lists of their x, and of those of their y."""
        if not runs:
            return []
        shown = np.arange(len(runs))[_kept(len(runs), math.ceil(self._share * len(runs)))]
        points = [(runs[i], _kept(len(runs[i].x), RUN_POINTS)) for i in shown]
        x, y = ([self._numbers(getattr(run, name)[kept]) for run, kept in points] for name in "xy")
        return [self._list(values) for values in ([run.name for run, _ in points], x, y)]

    def _numbers(self, values: Array) -> int:
        """The index of the list of these numbers."""
        key = values.tobytes()
        if key not in self._index:
            self._index[key] = self._list(_round(values))
        return self._index[key]

    def _list(self, values: Sequence[Any]) -> int:
        key = tuple(values)
        if key not in self._index:
            self._index[key] = len(self.lists)
            self.lists.append(list(values))
        return self._index[key]


def _some(**values: Any) -> dict[str, Any]:
    """The values without those that are empty, False or None."""
    return {name: value for name, value in values.items() if value or (value == 0 and value is not False)}


def _kept(length: int, most: int) -> Any:
    """An index of all points, or of `most` that are spread over them."""
    return slice(None) if length <= most else np.linspace(0, length - 1, most).round().astype(int)


def _bars(bars: TaskBars) -> dict[str, Any]:
    numbers = {name: _round(getattr(bars, name)) for name in ("start", "length", "share")}
    return {"label": bars.label, "colour": bars.colour, "row": bars.row.tolist(), **numbers}


def _round(values: Array) -> list[float]:
    """Finite numbers that are short in JSON: five digits, whole ones without a point."""
    size = np.floor(np.log10(np.abs(values), where=values != 0, out=np.zeros(len(values))))
    up, down = 10.0 ** np.maximum(DIGITS - 1 - size, 0), 10.0 ** np.maximum(size - DIGITS + 1, 0)
    rounded = np.round(values * up / down) / up * down
    return [int(value) if value.is_integer() else value for value in rounded.tolist()]
