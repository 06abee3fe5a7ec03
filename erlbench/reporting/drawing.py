"""A figure as data, and drawn on paper by matplotlib; `pages/charts.py` makes the page's chart of the same data."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from erlbench.reporting.documents.formats import steps

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito 2008, "Color universal design"; yellow is too light for lines and comes last.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
DARK = ("#4DA8E0", "#FF8A3D", "#2FC79A", "#E5A3C8", "#F2B632", "#8FD0F5", "#E6EAEF", "#C9A565")  # on a dark page
GREY = -1  # in place of a number of the palette
# Of an algorithm's curve, beside its colour, so that print in grey and colour-blind readers can distinguish curves.
SOLID, DASHES = "solid", ("solid", "longdash", "longdashdot", "shortdash")
SYMBOLS = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x", "star")
SOME = 8  # markers of a curve, about
RUN, LEVEL = 0.5, 1.0  # points: the width of a single run, and of a published mean, which is dotted


class Look(NamedTuple):
    """How a line is drawn: its dash, empty for that of its number; width in points; opacity of its band."""

    dash: str
    width: float
    band: float = 0.0


LOOKS = {
    "curve": Look("", 1.5, 0.16),
    "training": Look("dash", 1.2),
    "reference": Look("dashdot", 1.0, 0.1),
    "published": Look("dot", 1.0),
}
# Matplotlib's names
MARKERS = dict(zip(SYMBOLS, "os^DvPX*", strict=True))
LINES = {"solid": "-", "longdash": (0, (7, 2)), "longdashdot": (0, (7, 1.5, 1.5, 1.5)), "shortdash": (0, (2.5, 1)),
         "dash": (0, (4, 2)), "dashdot": (0, (5, 1, 1, 1)), "dot": (0, (1, 2))}  # fmt: skip
INK = "#595959"
STYLE: Mapping[Any, Any] = {  # where a matplotlibrc says nothing
    "figure.figsize": (7.0, 2.75), "font.size": 8.5, "axes.titlesize": 9.5, "axes.labelsize": 8.5,
    "figure.titlesize": 10.0, "legend.fontsize": 8.0, "xtick.labelsize": 8.0, "ytick.labelsize": 8.0,
    "axes.spines.top": False, "axes.spines.right": False, "axes.linewidth": 0.7, "axes.edgecolor": INK,
    "xtick.color": INK, "ytick.color": INK, "xtick.labelcolor": "black", "ytick.labelcolor": "black",
    "axes.grid": True, "grid.color": "#E3E3E3", "grid.linewidth": 0.6, "axes.axisbelow": True,
    "legend.frameon": False, "savefig.dpi": 200, "pdf.fonttype": 42,
}  # fmt: skip
# The same data give the same bytes; texts of files are drawn as they are, and no LaTeX is started.
FIXED: dict[Any, Any] = {
    "svg.hashsalt": "erlbench",
    "svg.fonttype": "path",
    "text.usetex": False,
    "text.parse_math": False,
}
METADATA = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
LINE, LETTER, BESIDE = 0.17, 0.06, 0.58  # inches: a line of a legend, a letter, an entry beside its text


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """A figure: `data` of its panels (`curves.tidy`, or bars of processes), which have labels `x` and `y`, ... by name.

    `kind` is "curves" (one panel at a time on the page, whose switch chooses it by its name), "profile", "timeline",
    "columns", or "grid" (a panel for each environment). `paper` names the panels that are drawn on paper, the first of
    which the page shows first. `band`: the kind that paper has, and the page at first.
    """

    kind: str
    title: str
    data: pd.DataFrame
    panels: Mapping[str, Mapping[str, Any]]
    paper: Sequence[str]
    caption: Sequence[str] = ()
    band: str = "range"


def dash_and_symbol(look: str, number: int, symbol: str) -> tuple[str, str]:
    """Those of a line; moved by one where colours begin again, so that no two of 64 curves look alike."""
    if LOOKS[look].dash:
        return LOOKS[look].dash, symbol
    turn = max(0, number) + max(0, number) // len(PALETTE)
    return DASHES[turn % len(DASHES)], symbol or SYMBOLS[turn % len(SYMBOLS)]


def line_spans(data: pd.DataFrame) -> list[slice]:
    """Where each line of a frame stands."""
    lines = data.line.to_numpy()
    ends = [*(np.flatnonzero(lines[1:] != lines[:-1]) + 1).tolist(), len(lines)]
    return [slice(start, stop) for start, stop in zip([0, *ends], ends, strict=False) if stop > start]


def draw(drawing: Drawing, path: Path, formats: Sequence[str]) -> None:
    """Write the panels that a drawing has on paper to `path`, with each of the suffixes `formats`."""
    import matplotlib as mpl  # not at the top: half a second that reading and tables need not pay
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    settings: dict[Any, Any] = {
        name: value for name, value in STYLE.items() if mpl.rcParams[name] == mpl.rcParamsDefault[name]
    }
    with mpl.rc_context(settings | FIXED):
        width = mpl.rcParams["figure.figsize"][0]
        figure = Figure(figsize=(width, 1.0), layout="constrained")
        FigureCanvasAgg(figure)
        height = (_draw_bars if drawing.kind == "timeline" else _draw_lines)(figure, drawing, width)
        figure.set_size_inches(width, height)
        if drawing.title:
            figure.suptitle(textwrap.fill(drawing.title, int(width / LETTER / 1.3)))
        write_figure(figure, path, formats)


def write_figure(figure: Figure, path: Path, formats: Sequence[str]) -> None:
    """Write `path` with each of the suffixes `formats`."""
    if layout := figure.get_layout_engine():
        layout.execute(figure)  # once for all formats
    figure.set_layout_engine(None)  # with any engine, "none" too, each `savefig` draws twice
    for suffix in formats:
        figure.savefig(path.with_name(f"{path.name}.{suffix}"), metadata=METADATA[suffix])


def _draw_lines(figure: Figure, drawing: Drawing, width: float) -> float:
    """Panels with curves and one legend below them; the height that they need, in inches."""
    names, kind = list(drawing.paper), drawing.kind
    columns = {"grid": 2 if len(names) == 4 else min(3, len(names)), "columns": 1}.get(kind, len(names))
    rows = -(-len(names) // columns)
    all_axes = figure.subplots(rows, columns, squeeze=False, sharey=kind == "curves", sharex=kind == "columns").ravel()
    legend: dict[str, Any] = {}
    for place, (name, axes) in enumerate(zip(names, all_axes, strict=False)):
        panel, drawn = drawing.panels[name], _lines(axes, drawing.data[drawing.data.panel == name], drawing.band)
        below = names[place + columns] if place + columns < len(names) else None
        repeated = below is not None and drawing.panels[below]["x"] == panel["x"]
        axes.set_xlabel("" if repeated else panel["x"])
        axes.set_ylabel(panel["y"] if place % columns == 0 else "")
        axes.set_title(textwrap.fill(panel.get("title", ""), int(width / columns / LETTER / 1.2)))
        _limit(axes, panel, kind)
        if kind == "columns":
            if any(drawn):
                axes.legend([*drawn.values()], [*drawn], loc="center left", bbox_to_anchor=(1.0, 0.5))
        else:
            legend = {**drawn, **legend}
    for empty in all_axes[len(names) :]:
        empty.remove()
    lines = _add_legend(figure, legend, width)
    return {"curves": 2.5, "profile": 2.5, "columns": 0.6 + 1.7 * rows}.get(kind, 0.3 + 1.8 * rows) + lines * LINE


def _lines(axes: Axes, data: pd.DataFrame, band: str) -> dict[str, Any]:
    """The lines of one panel: by their labels what a legend shows of them."""
    from matplotlib.collections import LineCollection

    low, high = ("interval_low", "interval_high") if band == "interval" else ("low", "high")
    handles = {}
    for (_, _, label), rows in data.groupby(["look", "name", "label"], sort=False):
        mean = rows[rows.run == ""]
        line, x = mean.iloc[0], mean.x.to_numpy()
        look = LOOKS[line["look"]]
        colour = line.colour or ("0.35" if line.number == GREY else PALETTE[line.number % len(PALETTE)])
        dash, symbol = dash_and_symbol(line["look"], line.number, line.symbol)
        runs = rows[rows.run != ""]
        paths = [runs[["x", "y"]].to_numpy()[span] for span in line_spans(runs)]
        if paths:
            axes.add_collection(LineCollection(paths, colors=colour, linewidths=RUN, alpha=0.45))
            axes.autoscale_view()
        behind = line["look"] == "reference"
        if mean[low].notna().any():
            hatch: dict[str, Any] = {"hatch": "////", "zorder": 0.5} if behind else {}
            axes.fill_between(x, mean[low], mean[high], color=colour, alpha=look.band, linewidth=0, **hatch)
        every = max(1, len(x) // SOME)
        first = max(0, line.number) * max(1, every // 4) % every  # so that markers do not hide each other
        (handles[str(label)],) = axes.plot(
            x, mean.y, color=colour, linewidth=look.width, linestyle=LINES[dash], markersize=4,
            marker=MARKERS.get(symbol.removesuffix("-open"), ""), markevery=None if line.symbol else (first, every),
            markerfacecolor="none" if symbol.endswith("-open") else colour, zorder=0.6 if behind else 2,
        )  # fmt: skip
        if not np.isnan(line.level):
            axes.axhline(line.level, color=colour, linewidth=LEVEL, linestyle=LINES["dot"])
    return handles


def _limit(axes: Axes, panel: Mapping[str, Any], kind: str) -> None:
    """Limits and ticks: steps as 20k and 1M, returns as 2,500."""
    if panel.get("shares"):
        axes.set_ylim(-0.02, 1.02)
        return
    axes.set_xlim(left=0)
    axes.locator_params("x", nbins=6, steps=[1, 2, 2.5, 5, 10])
    axes.xaxis.set_major_formatter(lambda value, _: steps(value))
    if kind != "columns":
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.10g}".replace("-", "−"))


def _add_legend(figure: Figure, handles: Mapping[str, Any], width: float) -> int:
    """One legend below all panels, in up to four columns that fit; its number of lines."""
    most = int(width / LETTER) - 10
    labels = [textwrap.shorten(label, most, placeholder="...") for label in handles]
    longest = max(map(len, labels), default=0)
    columns = max(1, min(4, len(labels), int(width / (BESIDE + LETTER * longest))))
    figure.legend([*handles.values()], labels, loc="outside lower center", ncols=columns, handlelength=3.2)
    return -(-len(labels) // columns)


def _draw_bars(figure: Figure, drawing: Drawing, width: float) -> float:
    """Panels with bars below each other, a row a process, one legend for all; the height, in inches."""
    panels = [drawing.panels[name] for name in drawing.paper]
    heights = [len(panel["rows"]) + 0.6 for panel in panels]
    all_axes = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
    handles: dict[str, Any] = {}
    for name, axes, panel in zip(drawing.paper, all_axes, panels, strict=True):
        if panel["end"] < panel["length"]:
            axes.axvspan(panel["end"], panel["length"], color="#EDEDED", linewidth=0)
        for label, bars in drawing.data[drawing.data.panel == name].groupby("label", sort=False):
            handles[str(label)] = _add_bars(axes, bars, panel["length"])
        for number, (_, busy) in enumerate(panel["rows"]):
            place: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "va": "center", "fontsize": "small"}
            axes.text(1.01, number, f"{100 * busy:.0f} %", **place)
        axes.set_title(textwrap.fill(panel["title"], int(width / LETTER / 1.2)), loc="left")
        axes.set(xlim=(0, panel["length"]), ylim=(len(panel["rows"]) - 0.4, -0.6))
        axes.set_ylabel(panel["y"] if len(panel["rows"]) > 2 else "")
        axes.set_yticks(range(len(panel["rows"])), [process for process, _ in panel["rows"]])
        axes.grid(False, axis="y")
        axes.tick_params(axis="y", length=0)
    all_axes[-1].set_xlabel(panels[-1]["x"])
    _add_legend(figure, handles, width)
    return 0.8 + sum(0.19 * len(panel["rows"]) + 0.5 for panel in panels)


def _add_bars(axes: Axes, bars: pd.DataFrame, width: float) -> Any:
    """The bars of one kind, each as high as its busy share; only those that are wide enough have an edge."""
    from matplotlib.collections import PolyCollection

    left, right, half = bars.start, bars.start + bars.length, 0.39 * bars.share
    low, high = bars.row - half, bars.row + half
    corners = np.stack([left, low, right, low, right, high, left, high], axis=1).reshape(-1, 4, 2)
    edges = np.where(bars.length > 3 * width / 800, 0.4, 0.0)
    colour = PALETTE[bars.colour.iloc[0]]
    return axes.add_collection(PolyCollection(list(corners), facecolor=colour, edgecolor="white", linewidths=edges))
