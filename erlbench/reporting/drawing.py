"""A figure as data, drawn on paper by matplotlib, and as the chart of a page.

The page has every list once; charts name it by its index.
"""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from erlbench.records.axes import AXES
from erlbench.records.training import thinned
from erlbench.reporting.documents import Figure, Record, load_toml
from erlbench.reporting.formats import steps
from erlbench.reporting.statistics import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

STYLES = load_toml("looks.toml")
PALETTE, DASHES, LOOKS, MARKERS = (STYLES[name] for name in ("palette", "dashes", "curves", "markers"))
SYMBOLS = [*MARKERS]
LINES = {name: (0, strokes) if strokes else "-" for name, strokes in STYLES["lines"].items()}  # matplotlib's
GREY = -1  # in place of a number of the palette
SOME = 8  # markers of a curve, about
RUN, LEVEL = 0.5, 1.0  # points: the width of a single run, and of a published mean, which is dotted
STYLE = files("erlbench.reporting") / "web" / "paper.mplstyle"
# The same data give the same bytes; texts of files are drawn as they are, and no LaTeX is started.
FIXED: dict[Any, Any] = {
    "svg.hashsalt": "erlbench",
    "svg.fonttype": "path",
    "text.usetex": False,
    "text.parse_math": False,
}
METADATA = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
LINE, LETTER, BESIDE = 0.17, 0.06, 0.58  # inches: a line of a legend, a letter, an entry without its text


def dash_and_symbol(look: str, number: int, symbol: str) -> tuple[str, str]:
    """The dash and the symbol of a curve, moved by one where colours begin again: no two of 64 curves look alike."""
    if dash := LOOKS[look]["dash"]:
        return dash, symbol
    turn = max(0, number) + max(0, number) // len(PALETTE)
    return DASHES[turn % len(DASHES)], symbol or SYMBOLS[turn % len(SYMBOLS)]


def draw(figure: Figure, path: Path, formats: Sequence[str]) -> None:
    """Write the panels that a figure has on paper to `path`, with each of the suffixes `formats`."""
    import matplotlib as mpl  # not at the top: half a second that reading and tables need not pay
    from matplotlib.figure import Figure as Canvas

    style = mpl.rc_params_from_file(str(STYLE), use_default_template=False)
    unset: dict[Any, Any] = {
        name: value for name, value in style.items() if mpl.rcParams[name] == mpl.rcParamsDefault[name]
    }
    with mpl.rc_context(unset | FIXED):
        width = mpl.rcParams["figure.figsize"][0]
        canvas = Canvas(figsize=(width, 1.0), layout="constrained")
        height, handles = _draw_curves(canvas, figure, width)
        canvas.set_size_inches(width, height + LINE * _add_legend(canvas, handles, width))
        if figure.heading:
            canvas.suptitle(textwrap.fill(figure.heading, int(width / LETTER / 1.3)))
        write_figure(canvas, path, formats)


def write_figure(canvas: Canvas, path: Path, formats: Sequence[str]) -> None:
    """Write `path` with each of the suffixes `formats`."""
    for suffix in formats:
        canvas.savefig(path.with_name(f"{path.name}.{suffix}"), metadata=METADATA[suffix])


def _draw_curves(canvas: Canvas, figure: Figure, width: float) -> tuple[float, Record]:
    """The height in inches without the legend, and what a legend shows by its text."""
    kind, names, handles = figure.kind, figure.paper, Record()
    columns = 1 if kind == "columns" else 2 if len(names) == 4 else min(3, len(names))
    rows = -(-len(names) // columns)
    all_axes = canvas.subplots(rows, columns, squeeze=False, sharey=kind == "curves", sharex=kind == "columns").ravel()
    for place, (name, axes) in enumerate(zip(names, all_axes, strict=False)):
        panel = figure.panels[name]
        for curve in figure.data[figure.data.panel == name].itertuples():
            handles[str(curve.label)] = _add_curve(axes, curve)
        axes.set_xlabel("" if kind == "columns" and place < len(names) - 1 else panel["x"])
        axes.set_ylabel(panel["y"] if place % columns == 0 else "")
        axes.set_title(textwrap.fill(panel.get("title", ""), int(width / columns / LETTER / 1.2)))
        axes.set_xlim(left=0)
        axes.locator_params("x", nbins=6, steps=[1, 2, 2.5, 5, 10])
        axes.xaxis.set_major_formatter(lambda value, _: steps(value))  # 20k, 1M
        if kind != "columns":
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.10g}".replace("-", "−"))
    for empty in all_axes[len(names) :]:
        empty.remove()
    return 0.5 + 1.9 * rows, handles


def _add_curve(axes: Axes, curve: Any) -> Any:
    """The line of a mean, with its band, its runs and its published mean."""
    from matplotlib.collections import LineCollection

    look, behind = LOOKS[curve.look], curve.look == "reference"
    colour = curve.colour or ("0.35" if curve.number == GREY else PALETTE[curve.number % len(PALETTE)])
    dash, symbol = dash_and_symbol(curve.look, curve.number, curve.symbol)
    if curve.runs:
        paths = [np.column_stack(xy) for _, *xy in curve.runs]
        axes.add_collection(LineCollection(paths, colors=colour, linewidths=RUN, alpha=0.45))
        axes.autoscale_view()
    if len(curve.low):
        hatch: Record = {"hatch": "////", "zorder": 0.5} if behind else {}
        axes.fill_between(curve.x, curve.low, curve.high, color=colour, alpha=look["band"], linewidth=0, **hatch)
    every = max(1, len(curve.x) // SOME)
    first = max(0, curve.number) * max(1, every // 4) % every  # so that markers do not hide each other
    (line,) = axes.plot(
        curve.x, curve.y, color=colour, linewidth=look["width"], linestyle=LINES[dash], markersize=4,
        marker=MARKERS.get(symbol.removesuffix("-open"), ""), markevery=None if curve.symbol else (first, every),
        markerfacecolor="none" if symbol.endswith("-open") else colour, zorder=0.6 if behind else 2,
    )  # fmt: skip
    if not np.isnan(curve.level):
        axes.axhline(curve.level, color=colour, linewidth=LEVEL, linestyle=LINES["dot"])
    return line


def _add_legend(canvas: Canvas, handles: Record, width: float) -> int:
    """One legend below all panels, in up to four columns that fit; its number of lines."""
    most = int(width / LETTER) - 10
    shown = {label: handle for label, handle in handles.items() if label}
    labels = [textwrap.shorten(label, most, placeholder="...") for label in shown]
    columns = max(1, min(4, len(labels), int(width / (BESIDE + LETTER * max(map(len, labels), default=0)))))
    canvas.legend([*shown.values()], labels, loc="outside lower center", ncols=columns, handlelength=3.2)
    return -(-len(labels) // columns)


POINTS = 60  # of a curve
RUN_POINTS = 40  # of a single run
MOST_RUNS = 1000  # single runs of a page, about; of more each figure shows a share
DIGITS = 5
PLOTLY = {"shortdash": "4px,2px"}  # dashes for which Plotly has no name


class ChartData:
    """What the charts of one page share: the page has `runs` runs."""

    def __init__(self, runs: int = 0) -> None:
        self.lists: dict[tuple[Any, ...], int] = {}  # with their index
        self._indices: dict[bytes, int] = {}  # of lists of numbers, before they are rounded
        self._share = min(1.0, MOST_RUNS / max(1, runs))  # of the single runs

    def shared(self) -> Record:
        """The axes that a reader can choose, the palette, and the lists, as JSON knows them."""
        axes = {name: {"label": axis.label, "note": axis.note} for name, axis in AXES.items()}
        palette = {"light": PALETTE, "dark": STYLES["dark"], "single": RUN, "markers": SOME}
        return {"axes": axes, "palette": palette, "share": self._share, "lists": [*self.lists]}

    def chart(self, figure: Figure) -> Record:
        """A figure with all of its panels."""
        panels = {}
        for name, panel in figure.panels.items():
            data = figure.data[figure.data.panel == name]
            if figure.kind == "timeline":
                rows = [[process, *_round(np.array([busy]))] for process, busy in panel["rows"]]
                bars = [
                    {"label": label, "colour": int(bars.colour.iloc[0]), "row": bars.row.tolist()}
                    | {name: _round(bars[name].to_numpy(np.float64)) for name in ("start", "length", "share")}
                    for label, bars in data.groupby("label", sort=False)
                ]
                panels[name] = {**panel, "rows": rows, "bars": bars}
            else:
                panels[name] = {**panel, "series": [self._series(curve) for curve in data.itertuples()]}
        return {"kind": figure.kind, "first": figure.paper[0], "panels": panels}

    def _series(self, curve: Any) -> Record:
        """A mean with its band and its single runs."""
        dash, symbol = dash_and_symbol(curve.look, curve.number, curve.symbol)
        indices = thinned(len(curve.x), POINTS)
        series = {
            "label": curve.label, "group": curve.group, "symbol": symbol, "every": bool(curve.symbol),
            "colour": curve.colour or curve.number, "dash": PLOTLY.get(dash, dash), "width": LOOKS[curve.look]["width"],
            "fade": LOOKS[curve.look]["band"], "averaged": curve.averaged,
            "x": self._list(curve.x[indices]), "y": self._list(curve.y[indices]),
        }  # fmt: skip
        if len(curve.low):
            series["band"] = [self._list(edge[indices]) for edge in (curve.low, curve.high)]
        if curve.runs:
            places = thinned(len(curve.runs), math.ceil(self._share * len(curve.runs)))
            names, *runs = zip(*(curve.runs[place] for place in places), strict=True)
            lists = ([self._list(line[thinned(len(line), RUN_POINTS)]) for line in values] for values in runs)
            series["runs"] = [self._list(values) for values in (names, *lists)]
        if not math.isnan(curve.level):
            series["level"] = curve.level
        return series

    def _list(self, values: Any) -> int:
        """The index of the list of these values; numbers are rounded."""
        if not isinstance(values, np.ndarray):
            return self.lists.setdefault(tuple(values), len(self.lists))
        if (data := values.tobytes()) not in self._indices:  # over most axes a curve has the same values
            self._indices[data] = self.lists.setdefault(tuple(_round(values)), len(self.lists))
        return self._indices[data]


def _round(values: Array) -> list[float | None]:
    """Numbers that are short in JSON: five digits, whole ones without a point; None for what is not finite."""
    texts = ", ".join([f"%.{DIGITS}g"] * len(values)) % tuple(values.tolist())
    if "e" not in texts and "n" not in texts:  # neither an exponent, nor nan or inf
        return list(json.loads(f"[{texts}]"))
    rounded = map(float, texts.split(", ") if texts else ())
    return [int(value) if value.is_integer() else value if math.isfinite(value) else None for value in rounded]
