"""Tables and figures, of which pages, CSV files and LaTeX are made."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

from erlbench.reporting.documents.formats import text

Row = TypeVar("Row", contravariant=True)
Item = TypeVar("Item")
Record = dict[str, Any]  # a row of a frame: values by the names of columns
PLAIN, BOLD, ITALIC = "", "bold", "italic"


@dataclass(frozen=True)
class Column(Generic[Row]):
    """One column of a table, declared once: header, printed cells, CSV and caption all come from here.

    `metric` names the values of a row that is a record (`mean std`, or a tuple): one cell, and as many columns of
    the CSV file, in full precision; no value is None or NaN. For rows that are objects it is a function that gives the
    value, or a tuple of as many as `name` has names. `format` prints the values.
    """

    title: str  # the header without its unit; no two printed columns of a table share it
    metric: str | tuple[str, ...] | Callable[[Row], Any]
    format: Callable[..., str] = text
    _: KW_ONLY
    name: str | tuple[str, ...] = ""  # in the CSV file; by default the title in small letters with underscores
    printed: str = ""  # what of a record is printed, in place of the values
    unit: str = ""
    note: str = ""  # what it means, a sentence or more: below the table, and on hover
    style: str | Callable[[Row], str] = ""  # what of a row is its style: PLAIN, BOLD, ITALIC or a class of web pages
    link: Callable[[Row], str] = lambda row: ""  # where a cell leads to
    shown: bool = True  # False: only in the CSV file
    words: bool = False  # printed to the left, as all that `text` prints

    @property
    def header(self) -> str:
        """The title with its unit."""
        return f"{self.title} ({self.unit})" if self.unit else self.title

    @property
    def names(self) -> tuple[str, ...]:
        """Of its columns in the CSV file."""
        if not callable(self.metric):
            return tuple(self.metric.split()) if isinstance(self.metric, str) else self.metric
        if isinstance(self.name, tuple):
            return self.name
        return (self.name or self.title.lower().replace(" ", "_"),)

    @property
    def left(self) -> bool:
        """Whether it is printed to the left, as texts are."""
        return self.words or self.format is text

    def values(self, row: Any) -> tuple[Any, ...]:
        """The row's values, one for each of `names`."""
        if not callable(self.metric):
            return tuple(row[name] for name in self.names)
        value = self.metric(row)
        return value if isinstance(self.name, tuple) else (value,)

    def cell(self, row: Any, values: tuple[Any, ...]) -> TableCell:
        """The row's printed cell of its `values`."""
        shown = row[self.printed] if self.printed else self.format(*values)
        style = (row[self.style] if self.style else PLAIN) if isinstance(self.style, str) else self.style(row)
        return TableCell(shown, style, self.link(row), values[0])


@dataclass(frozen=True)
class TableCell:
    """A printed cell."""

    text: str
    style: str = PLAIN
    link: str = ""
    value: Any = field(default=None, compare=False)  # by which rows are sorted


@dataclass(frozen=True)
class Table(Generic[Item]):
    """Columns x rows; a row is any object that the columns' metrics understand.

    Rows are grouped by what their first column prints. Raises `ValueError` when two columns share a header or a name
    in the CSV file.
    """

    name: str  # of its files; empty for a table that has none
    title: str
    columns: Sequence[Column[Item]]
    rows: Sequence[Item]
    remarks: Sequence[str] = ()  # what the caption says besides the columns' notes, a sentence or more each
    for_paper: bool = False  # it is a file of LaTeX, too

    def __post_init__(self) -> None:
        for what, names in (("header", self.header), ("name", [n for c in self.columns for n in c.names])):
            if twice := sorted({name for name in names if names.count(name) > 1}):
                raise ValueError(f"table {self.name}: two columns have the {what} {', '.join(twice)}")

    @property
    def files(self) -> tuple[str, ...]:
        """The kinds of its files; none without a name."""
        return ("md", "csv", *(["tex"] if self.for_paper else [])) if self.name else ()

    @property
    def shown(self) -> list[Column[Item]]:
        """The printed columns."""
        return [column for column in self.columns if column.shown]

    @property
    def header(self) -> list[str]:
        """The printed headers."""
        return [column.header for column in self.shown]

    @cached_property
    def values(self) -> list[list[tuple[Any, ...]]]:
        """The values of all columns, row by row."""
        return [[column.values(row) for column in self.columns] for row in self.rows]

    @cached_property
    def cells(self) -> list[list[TableCell]]:
        """What is printed, row by row."""
        return [
            [column.cell(row, own) for column, own in zip(self.columns, values, strict=True) if column.shown]
            for row, values in zip(self.rows, self.values, strict=True)
        ]

    @property
    def records(self) -> list[dict[str, Any]]:
        """What the CSV file holds: the values of all columns in full precision, by name; None for no value."""
        return [
            {
                name: _or_none(value)
                for column, own in zip(self.columns, values, strict=True)
                for name, value in zip(column.names, own, strict=True)
            }
            for values in self.values
        ]

    @property
    def notes(self) -> list[str]:
        """What stands below the table: the remarks, then what the printed columns mean."""
        meanings = [f"{column.title}: {column.note}" for column in self.shown if column.note]
        return [*self.remarks, *([" ".join(meanings)] if meanings else [])]


@dataclass(frozen=True)
class Chart:
    """What a browser draws in place of a figure: plain values, as JSON knows them."""

    kind: str  # of `figures.model.Plot`
    data: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure that lies beside the document, in one format or several."""

    name: str  # of its files
    title: str
    caption: str
    notes: tuple[str, ...] = ()
    formats: tuple[str, ...] = ("png",)
    chart: Chart | None = None

    @property
    def picture(self) -> str:
        """The name of the file that a page shows, the first that browsers can; empty where there is none."""
        return next((f"{self.name}.{suffix}" for suffix in self.formats if suffix in ("png", "svg")), "")


def _or_none(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def columns(
    rows: Sequence[Mapping[str, Any]], number: Callable[[Any], str] = str, notes: Mapping[str, str] | None = None
) -> list[Column[Mapping[str, Any]]]:
    """A column for each key of rows that are dicts, titled as the key; numbers are printed by `number`."""
    made = []
    for name in rows[0] if rows else ():
        title = name.replace("_", " ").capitalize()
        form = text if all(isinstance(row[name], str) for row in rows) else number
        note = (notes or {}).get(title, "")
        made.append(Column[Mapping[str, Any]](title, (name,), form, note=note))
    return made
