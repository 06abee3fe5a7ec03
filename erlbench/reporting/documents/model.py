"""Tables and figures, of which pages, CSV files and LaTeX are made."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any

from erlbench.reporting.documents.formats import text

Record = dict[str, Any]  # a row of a frame: values by the names of columns
PLAIN, BOLD, ITALIC = "", "bold", "italic"


@dataclass(frozen=True)
class Column:
    """One column of a table, declared once: header, printed cells, CSV and caption all come from here.

    `values` names the values of a row (`mean std`, or a tuple): one cell, and as many columns of the CSV file, in full
    precision; no value is None or NaN. `format` prints them. `printed`, `style` and `link` name what else of a row
    the cell shows.
    """

    title: str  # the header without its unit; no two printed columns of a table share it
    values: str | tuple[str, ...]
    format: Callable[..., str] = text
    _: KW_ONLY
    printed: str = ""  # a text in place of the formatted values
    unit: str = ""
    note: str = ""  # what it means, a sentence or more: below the table, and on hover
    style: str = ""  # PLAIN, BOLD, ITALIC or a class of web pages
    link: str = ""  # where a cell leads to
    shown: bool = True  # False: only in the CSV file
    words: bool = False  # printed to the left, as all that `text` prints

    @property
    def header(self) -> str:
        """The title with its unit."""
        return f"{self.title} ({self.unit})" if self.unit else self.title

    @property
    def names(self) -> tuple[str, ...]:
        """Of its columns in the CSV file."""
        return tuple(self.values.split()) if isinstance(self.values, str) else self.values

    @property
    def left(self) -> bool:
        """Whether it is printed to the left, as texts are."""
        return self.words or bool(self.printed) or self.format is text

    def cell(self, row: Record) -> TableCell:
        """The row's printed cell."""
        values = [row[name] for name in self.names]
        shown = row[self.printed] if self.printed else self.format(*values)
        style, link = (row[name] if name else "" for name in (self.style, self.link))
        return TableCell(shown, style, link, values[0])


@dataclass(frozen=True)
class TableCell:
    """A printed cell."""

    text: str
    style: str = PLAIN
    link: str = ""
    value: Any = field(default=None, compare=False)  # by which rows are sorted


@dataclass(frozen=True)
class Table:
    """Columns x rows.

    Rows are grouped by what their first column prints. Raises `ValueError` when two columns share a header or a name
    in the CSV file.
    """

    name: str  # of its files; empty for a table that has none
    title: str
    columns: Sequence[Column]
    rows: Sequence[Record]
    remarks: Sequence[str] = ()  # what the caption says besides the columns' notes, a sentence or more each
    for_paper: bool = False  # it is a file of LaTeX, too

    def __post_init__(self) -> None:
        for what, names in (("header", self.header), ("name", self.names)):
            if twice := sorted({name for name in names if names.count(name) > 1}):
                raise ValueError(f"table {self.name}: two columns have the {what} {', '.join(twice)}")

    @property
    def files(self) -> tuple[str, ...]:
        """The kinds of its files; none without a name."""
        return ("md", "csv", *(["tex"] if self.for_paper else [])) if self.name else ()

    @property
    def names(self) -> list[str]:
        """The names in the CSV file."""
        return [name for column in self.columns for name in column.names]

    @property
    def shown(self) -> list[Column]:
        """The printed columns."""
        return [column for column in self.columns if column.shown]

    @property
    def header(self) -> list[str]:
        """The printed headers."""
        return [column.header for column in self.shown]

    @cached_property
    def cells(self) -> list[list[TableCell]]:
        """What is printed, row by row."""
        return [[column.cell(row) for column in self.shown] for row in self.rows]

    @property
    def records(self) -> list[Record]:
        """What the CSV file holds: the values of all columns in full precision, by name; None for no value."""
        return [{name: _or_none(row[name]) for name in self.names} for row in self.rows]

    @property
    def notes(self) -> list[str]:
        """What stands below the table: the remarks, then what the printed columns mean."""
        meanings = [f"{column.title}: {column.note}" for column in self.shown if column.note]
        return [*self.remarks, *([" ".join(meanings)] if meanings else [])]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure: `data` of its panels (`curves.curve_frame`, or bars of processes), which have labels by name.

    `kind` is "curves" (one panel at a time on the page, whose switch chooses it by its name), "profile", "timeline",
    "columns", or "grid" (a panel for each environment). `paper` names the panels that are drawn on paper, the first of
    which the page shows first. `band`: the kind that paper has, and the page at first.
    """

    name: str  # of its files
    title: str
    caption: Sequence[str]  # what it shows, then notes
    kind: str = "curves"
    heading: str = ""  # on paper
    data: Any = None
    panels: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    paper: Sequence[str] = ()
    band: str = "range"
    formats: tuple[str, ...] = ()  # of its files
    chart: Mapping[str, Any] | None = None  # what a browser draws in its place: plain values, as JSON knows them

    @property
    def picture(self) -> str:
        """The name of the file that a page shows, the first that browsers can; empty where there is none."""
        return next((f"{self.name}.{suffix}" for suffix in self.formats if suffix in ("png", "svg")), "")


def _or_none(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value
