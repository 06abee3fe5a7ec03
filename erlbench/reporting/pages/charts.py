"""The charts of `index.html`: drawings as JSON, which the page's script draws.

Every list stands once in the page, however many charts show it. A chart names it by its index.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from erlbench.records.axes import AXES
from erlbench.reporting.data.runs import Array
from erlbench.reporting.documents.model import Chart
from erlbench.reporting.drawing import DARK, LOOKS, PALETTE, RUN, SOME, Drawing, dash_and_symbol, line_spans

POINTS = 60  # of a curve
RUN_POINTS = 40  # of a single run
MOST_RUNS = 1000  # single runs of a page, about; of more each figure shows a share
DIGITS = 5
PLOTLY = {"shortdash": "4px,2px"}  # dashes for which Plotly has no name
BANDS = {"range": ["low", "high"], "interval": ["interval_low", "interval_high"]}


class ChartData:
    """What the charts of one page share: the page has `runs` runs."""

    def __init__(self, runs: int = 0) -> None:
        self.lists: list[list[Any]] = []
        self._index: dict[object, int] = {}
        self._share = min(1.0, MOST_RUNS / max(1, runs))  # of the single runs

    def shared(self) -> dict[str, Any]:
        """The axes that a reader can choose, the palette, and the lists, as JSON knows them."""
        axes = {name: {"label": axis.label, "note": axis.note} for name, axis in AXES.items()}
        palette = {"light": PALETTE, "dark": DARK, "single": RUN, "markers": SOME}
        return {"axes": axes, "palette": palette, "share": self._share, "lists": self.lists}

    def chart(self, drawing: Drawing) -> Chart:
        """A drawing with all of its panels."""
        panels = {}
        for name, panel in drawing.panels.items():
            data = drawing.data[drawing.data.panel == name]
            if drawing.kind == "timeline":
                rows = [[process, *_round(np.array([busy]))] for process, busy in panel["rows"]]
                bars = [_bars(own) for _, own in data.groupby("label", sort=False)]
                panels[name] = {**panel, "rows": rows, "bars": bars}
            else:
                lines = data.groupby(["look", "name", "label"], sort=False)
                panels[name] = {**panel, "series": [self._series(rows) for _, rows in lines]}
        return Chart(drawing.kind, {"first": drawing.paper[0], "band": drawing.band, "panels": panels})

    def _series(self, rows: pd.DataFrame) -> dict[str, Any]:
        """A mean with its bands and its single runs."""
        single = (rows.run != "").to_numpy()
        mean, runs = rows[~single], rows.loc[single, ["line", "run", "x", "y"]]
        line = mean.iloc[0]
        mean = mean[mean.x.notna()].iloc[_kept(mean.x.notna().sum(), POINTS)]
        dash, symbol = dash_and_symbol(line["look"], line.number, line.symbol)
        look = LOOKS[line["look"]]
        series = {
            "label": line.label, "group": line.group, "symbol": symbol, "every": bool(line.symbol),
            "colour": line.colour or int(line.number), "dash": PLOTLY.get(dash, dash), "width": look.width,
            "fade": look.band, "averaged": int(line.averaged),
            "x": self._numbers(mean.x.to_numpy()), "y": self._numbers(mean.y.to_numpy()),
        }  # fmt: skip
        bands = {kind: edges for kind, edges in BANDS.items() if len(mean) and mean[edges[0]].notna().all()}
        if bands:
            series["bands"] = {
                kind: [self._numbers(mean[edge].to_numpy()) for edge in edges] for kind, edges in bands.items()
            }
        if len(runs):
            series["runs"] = self._runs(runs)
        if not math.isnan(line.level):
            series["level"] = float(line.level)
        return series

    def _runs(self, runs: pd.DataFrame) -> list[int]:
        """The lists of the runs' names, of the lists of their x, and of those of their y."""
        spans = line_spans(runs)
        shown = [spans[i] for i in np.arange(len(spans))[_kept(len(spans), math.ceil(self._share * len(spans)))]]
        names = runs.run.to_numpy()[[span.start for span in shown]]
        lists = [self._list(names.tolist())]
        for values in (runs.x.to_numpy(), runs.y.to_numpy()):
            curves = [values[span] for span in shown]
            lists.append(self._list([self._numbers(curve[_kept(len(curve), RUN_POINTS)]) for curve in curves]))
        return lists

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


def _kept(length: int, most: int) -> Any:
    """An index of all points, or of `most` that are spread over them."""
    return slice(None) if length <= most else np.linspace(0, length - 1, most).round().astype(int)


def _bars(bars: pd.DataFrame) -> dict[str, Any]:
    numbers = {name: _round(bars[name].to_numpy(np.float64)) for name in ("start", "length", "share")}
    return {"label": bars.label.iloc[0], "colour": int(bars.colour.iloc[0]), "row": bars.row.tolist(), **numbers}


def _round(values: Array) -> list[float]:
    """Finite numbers that are short in JSON: five digits, whole ones without a point."""
    size = np.floor(np.log10(np.abs(values), where=values != 0, out=np.zeros(len(values))))
    up, down = 10.0 ** np.maximum(DIGITS - 1 - size, 0), 10.0 ** np.maximum(size - DIGITS + 1, 0)
    rounded = np.round(values * up / down) / up * down
    return [int(value) if value.is_integer() else value for value in rounded.tolist()]
