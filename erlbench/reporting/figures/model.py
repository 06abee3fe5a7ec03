"""A figure as data: panels with series and bars. `draw.py` draws it on paper, `pages/charts.py` for the web page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from erlbench.reporting.data.runs import Array

# Okabe and Ito 2008, "Color universal design"; yellow is too light for lines and comes last.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
DARK = ("#4DA8E0", "#FF8A3D", "#2FC79A", "#E5A3C8", "#F2B632", "#8FD0F5", "#E6EAEF", "#C9A565")  # on a dark page
GREY = -1  # in place of a number of the palette
# Of an algorithm's curve, beside its colour, so that print in grey and colour-blind readers can distinguish curves.
DASHES = ("solid", "longdash", "longdashdot", "shortdash")
SYMBOLS = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x", "star")
SOME = 8  # markers of a curve, about

ALWAYS = "always"  # the band of a series that has it whatever kind its figure has
Band = tuple[Array, Array]  # low and high, each (points,)


@dataclass(frozen=True)
class LineLook:
    """How a series is drawn: dash, width in points, opacity of its band."""

    dash: str  # of `DASHES`, or "dash", "dashdot", "dot"; "" for the one of the curve's number
    width: float
    band: float = 0.0
    hatched: bool = False  # the band


CURVE = LineLook("", 1.5, 0.16)
RUN = LineLook("solid", 0.5)
LEVEL = LineLook("dot", 1.0)
REFERENCE = LineLook("dashdot", 1.0, 0.1, hatched=True)
POINTS = LineLook("dot", 1.0)


@dataclass(frozen=True)
class RunLine:
    """One run as a thin line: x and y (points,)."""

    name: str
    x: Array
    y: Array


@dataclass(frozen=True, kw_only=True)
class Series:
    """A curve: x and y (points,); `colour` is a number, from which its colour, dash and marker follow, or `GREY`."""

    label: str
    x: Array
    y: Array
    colour: int
    look: LineLook = CURVE
    group: str = ""  # what it belongs to: legends show and hide a group at once
    symbol: str = ""  # a marker at each point: "square-open", "diamond-open", ...
    bands: Mapping[str, Band] = field(default_factory=dict)  # by kind, "range" or "interval", or `ALWAYS`
    runs: Sequence[RunLine] = ()
    beside: bool = False  # named in a legend beside the panel, not where the curve ends
    averaged: int = 1  # runs in the mean
    level: float | None = None  # a published value, a horizontal line
    note: str = ""  # where it is from, for the caption

    @property
    def dash(self) -> str:
        """That of its look, or of its number."""
        return self.look.dash or DASHES[self._turn % len(DASHES)]

    @property
    def marker(self) -> str:
        """At each point where it has a `symbol`, else at some; empty for a look with a dash of its own."""
        return self.symbol or ("" if self.look.dash else SYMBOLS[self._turn % len(SYMBOLS)])

    @property
    def _turn(self) -> int:
        """Its number, moved by one where colours begin again, so that no two of 64 curves look alike."""
        number = max(0, self.colour)
        return number + number // len(PALETTE)

    @property
    def end(self) -> float:
        """The last value, of the first run where there is no mean; NaN where there is neither."""
        ends = self.y if len(self.y) else self.runs[0].y if self.runs else np.empty(0)
        return float(ends[-1]) if len(ends) else float("nan")


@dataclass(frozen=True)
class TaskBars:
    """Horizontal bars of one kind, all arrays (bars,); `share` is the part of a bar's time that was busy."""

    label: str
    colour: int
    _: KW_ONLY
    row: Array
    start: Array
    length: Array
    share: Array


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One pair of axes; those with `rows` have bars, a row for each."""

    x: str  # labels, with their units
    y: str
    title: str = ""
    series: Sequence[Series] = ()
    steps: bool = False  # x begins at zero; its ticks are 20k and 1M
    shares: bool = False  # y runs from 0 to 1
    bars: Sequence[TaskBars] = ()
    rows: Sequence[tuple[str, float]] = ()  # the name of each, and its busy share over the whole run
    length: float = 0.0  # of the x-axis of bars
    end: float = np.inf  # of the run; what comes after it is grey


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """What a figure is drawn on: inches, points, colours."""

    width: float = 7.0  # two columns of a paper
    height: float = 0.0  # 0: what its panels need
    columns: int = 0  # of panels; 0: up to 3
    font: float = 8.5
    family: str = "sans-serif"
    palette: tuple[str, ...] = PALETTE


@dataclass(frozen=True, kw_only=True)
class Plot:
    """A figure: its panels by name, in order, and what its caption says, a sentence or more each.

    `kind` is "curves" (one panel at a time on the page, whose switch chooses it by its name), "profile", "timeline",
    "columns", or "grid" (a panel for each environment, one legend). `paper` names the panels that are drawn on paper,
    the first of which the page shows first.
    """

    kind: str
    title: str
    panels: Mapping[str, Panel]
    paper: Sequence[str]
    caption: Sequence[str] = ()
    band: str = "range"  # the kind that paper has, and the page at first
    sheet: Sheet = Sheet()
