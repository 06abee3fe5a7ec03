"""How figures look: sizes, fonts, a colour-blind safe palette, files."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from erlbench.reporting.documents.formats import steps
from erlbench.reporting.figures.model import GREY, PALETTE, Sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# By the names of `figures.model`; the open ones are hollow.
MARKERS = {"circle": "o", "square": "s", "triangle-up": "^", "diamond": "D", "triangle-down": "v", "cross": "P",
           "x": "X", "star": "*"}  # fmt: skip
GLYPHS = {"circle": "●", "square": "■", "triangle-up": "▲", "diamond": "◆", "triangle-down": "▼", "cross": "✚",
          "x": "✖", "star": "★"}  # fmt: skip
OPEN = "-open"
INK = "#595959"
DASHES = {"solid": "-", "longdash": (0, (7, 2)), "longdashdot": (0, (7, 1.5, 1.5, 1.5)), "shortdash": (0, (2.5, 1)),
          "dash": (0, (4, 2)), "dashdot": (0, (5, 1, 1, 1)), "dot": (0, (1, 2))}  # fmt: skip
RC: tuple[tuple[Any, Any], ...] = (
    ("font.size", 8.5), ("axes.titlesize", 9.5), ("axes.labelsize", 8.5), ("legend.fontsize", 8.0),
    ("xtick.labelsize", 8.0), ("ytick.labelsize", 8.0), ("font.family", "sans-serif"),
    ("axes.spines.top", False), ("axes.spines.right", False), ("axes.linewidth", 0.7), ("axes.edgecolor", INK),
    ("xtick.color", INK), ("ytick.color", INK), ("xtick.labelcolor", "black"), ("ytick.labelcolor", "black"),
    ("axes.grid", True), ("grid.color", "#E3E3E3"), ("grid.linewidth", 0.6), ("axes.axisbelow", True),
    ("legend.frameon", False), ("legend.title_fontsize", 8.0), ("lines.linewidth", 1.5), ("savefig.dpi", 200),
    ("svg.fonttype", "path"), ("svg.hashsalt", "erlbench"), ("pdf.fonttype", 42), ("axes.unicode_minus", True),
    ("text.parse_math", False),  # texts of files are drawn as they are
)  # fmt: skip
BESIDE, LETTER = 0.58, 0.06  # inches of an entry of a legend beside its text, and of a letter
BASE = 8.5  # points: what the sizes of RC go with
SIZES = [name for name, _ in RC if str(name).endswith("size")]


def colour_of(number: int, palette: Sequence[str] = PALETTE) -> str:
    """The colour of that number, which begins again after the palette's last."""
    return palette[number % len(palette)] if number != GREY else "0.35"


def glyph(symbol: str) -> str:
    """A marker as text, with a space; empty for none."""
    return f"{GLYPHS[symbol.removesuffix(OPEN)]} " if symbol else ""


@contextmanager
def new_figure(height: float, sheet: Sheet) -> Iterator[Figure]:
    """A figure of that many inches in the report's style, without a window and without pyplot's global state."""
    matplotlib = _matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # not what a file of settings says, by which LaTeX might be started
        matplotlib.rcParams.update(
            {name: value + sheet.font - BASE if name in SIZES else value for name, value in RC}
            | {"font.family": sheet.family, "font.serif": ["STIXGeneral"]}
        )  # a font that matplotlib brings
        figure = Figure(figsize=(sheet.width, sheet.height or height), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure


def _matplotlib() -> Any:
    """Matplotlib, imported where it finds no file `matplotlibrc`: one in the current folder may be anybody's."""
    if "matplotlib" not in sys.modules and os.path.lexists("matplotlibrc"):
        here = os.open(".", os.O_RDONLY)
        os.chdir("/")
        try:
            return importlib.import_module("matplotlib")
        finally:
            os.fchdir(here)
            os.close(here)
    return importlib.import_module("matplotlib")  # not at the top: half a second that reading and tables need not pay


def save(figure: Figure, path: Path, formats: Sequence[str]) -> None:
    """Write `path` with each of the suffixes `formats`; the same data give the same bytes."""
    if layout := figure.get_layout_engine():
        layout.execute(figure)  # once for all formats
    figure.set_layout_engine(None)  # with any engine, "none" too, each `savefig` draws twice
    for suffix in formats:
        metadata = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[suffix]
        figure.savefig(path.with_name(f"{path.name}.{suffix}"), metadata=metadata)


def legend_columns(labels: Sequence[str], width: float) -> int:
    """Up to three columns that are no wider than `width` inches, without a last row of one where that is easy."""
    entry = BESIDE + LETTER * max(map(len, labels), default=0)
    most = 2 if len(labels) in (2, 4) else min(3, len(labels))
    return max(1, min(most, int(width / entry)))


def steps_axis(axis: Any) -> None:
    """Tick labels such as 20k and 1M."""
    axis.get_major_locator().set_params(nbins=6, steps=[1, 2, 2.5, 5, 10])
    axis.set_major_formatter(lambda value, _: steps(value))


def return_axis(axis: Any) -> None:
    """Tick labels such as 2,500."""
    axis.set_major_formatter(lambda value, _: f"{value:,.10g}".replace("-", "−"))
