"""The charts of `index.html`: figures as JSON, which the page's script draws.

Every list stands once in the page, however many charts show it. A chart names it by its index.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from erlbench.records.axes import AXES
from erlbench.records.training import thinned
from erlbench.reporting.data.runs import Array
from erlbench.reporting.documents.model import Figure
from erlbench.reporting.drawing import DARK, LOOKS, PALETTE, RUN, SOME, dash_and_symbol

POINTS = 60  # of a curve
RUN_POINTS = 40  # of a single run
MOST_RUNS = 1000  # single runs of a page, about; of more each figure shows a share
DIGITS = 5
PLOTLY = {"shortdash": "4px,2px"}  # dashes for which Plotly has no name
BANDS = {"range": "", "interval": "interval_"}


class ChartData:
    """What the charts of one page share: the page has `runs` runs."""

    def __init__(self, runs: int = 0) -> None:
        self.lists: dict[tuple[Any, ...], int] = {}  # with their index
        self._index: dict[Any, int] = {}  # of what was there before it was rounded
        self._share = min(1.0, MOST_RUNS / max(1, runs))  # of the single runs

    def shared(self) -> dict[str, Any]:
        """The axes that a reader can choose, the palette, and the lists, as JSON knows them."""
        axes = {name: {"label": axis.label, "note": axis.note} for name, axis in AXES.items()}
        palette = {"light": PALETTE, "dark": DARK, "single": RUN, "markers": SOME}
        return {"axes": axes, "palette": palette, "share": self._share, "lists": [*self.lists]}

    def chart(self, figure: Figure) -> dict[str, Any]:
        """A figure with all of its panels."""
        panels = {}
        for name, panel in figure.panels.items():
            data = figure.data[figure.data.panel == name]
            if figure.kind == "timeline":
                rows = [[process, *_round(np.array([busy]))] for process, busy in panel["rows"]]
                bars = [_bars(bars) for _, bars in data.groupby("label", sort=False)]
                panels[name] = {**panel, "rows": rows, "bars": bars}
            else:
                panels[name] = {**panel, "series": [self._series(curve) for curve in data.itertuples()]}
        return {"kind": figure.kind, "first": figure.paper[0], "band": figure.band, "panels": panels}

    def _series(self, curve: Any) -> dict[str, Any]:
        """A mean with its bands and its single runs."""
        dash, symbol = dash_and_symbol(curve.look, curve.number, curve.symbol)
        kept = thinned(len(curve.x), POINTS)
        series = {
            "label": curve.label, "group": curve.group, "symbol": symbol, "every": bool(curve.symbol),
            "colour": curve.colour or curve.number, "dash": PLOTLY.get(dash, dash), "width": LOOKS[curve.look].width,
            "fade": LOOKS[curve.look].band, "averaged": curve.averaged,
            "x": self._list(curve.x[kept]), "y": self._list(curve.y[kept]),
        }  # fmt: skip
        for kind, prefix in BANDS.items():
            edges = [getattr(curve, f"{prefix}{edge}") for edge in ("low", "high")]
            if len(edges[0]):
                series.setdefault("bands", {})[kind] = [self._list(edge[kept]) for edge in edges]
        if curve.runs:
            places = thinned(len(curve.runs), math.ceil(self._share * len(curve.runs)))
            names, *runs = zip(*(curve.runs[place] for place in places), strict=True)
            lists = ([self._list(one[thinned(len(one), RUN_POINTS)]) for one in values] for values in runs)
            series["runs"] = [self._list(values) for values in (names, *lists)]
        if not math.isnan(curve.level):
            series["level"] = curve.level
        return series

    def _list(self, values: Any) -> int:
        """The index of the list of these values; numbers are rounded."""
        key = values.tobytes() if isinstance(values, np.ndarray) else tuple(values)
        if key not in self._index:
            items = tuple(_round(values) if isinstance(values, np.ndarray) else values)
            self._index[key] = self.lists.setdefault(items, len(self.lists))
        return self._index[key]


def _bars(bars: pd.DataFrame) -> dict[str, Any]:
    numbers = {name: _round(bars[name].to_numpy(np.float64)) for name in ("start", "length", "share")}
    return {"label": bars.label.iloc[0], "colour": int(bars.colour.iloc[0]), "row": bars.row.tolist(), **numbers}


def _round(values: Array) -> list[float]:
    """Finite numbers that are short in JSON: five digits, whole ones without a point."""
    rounded = (float(f"{value:.{DIGITS}g}") for value in values.tolist())
    return [int(value) if value.is_integer() else value for value in rounded]
