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

ALWAYS = "always"  # the band of a series that has it whatever kind its figure has
Band = tuple[Array, Array]  # low and high, each (points,)


@dataclass(frozen=True)
class LineLook:
    """How a series is drawn: dash, width in points, opacity of its band."""

    dash: str  # "solid", "dash", "dashdot" or "dot"
    width: float
    band: float = 0.0
    hatched: bool = False  # the band


CURVE = LineLook("solid", 1.5, 0.16)
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
    """A curve: x and y (points,); `colour` is a number of the palette, or `GREY`."""

    label: str
    x: Array
    y: Array
    colour: int
    look: LineLook = CURVE
    group: str = ""  # what it belongs to: legends show and hide a group at once
    symbol: str = ""  # a marker at each point: "square", "diamond", ...
    bands: Mapping[str, Band] = field(default_factory=dict)  # by kind, "range" or "interval", or `ALWAYS`
    runs: Sequence[RunLine] = ()
    beside: bool = False  # named in a legend beside the panel, not where the curve ends
    averaged: int = 1  # runs in the mean
    level: float | None = None  # a published value, a horizontal line
    note: str = ""  # where it is from, for the caption

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
class Plot:
    """A figure: its panels by name, in order, and what its caption says, a sentence or more each.

    `kind` is "curves" (one panel at a time on the page, whose switch chooses it by its name), "profile", "timeline"
    or "columns". `paper` names the panels that are drawn on paper, the first of which the page shows first.
    """

    kind: str
    title: str
    panels: Mapping[str, Panel]
    paper: Sequence[str]
    caption: Sequence[str] = ()
    band: str = "range"  # the kind that paper has, and the page at first
