"""The files of tables."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

from erlbench.reporting.documents import latex, render
from erlbench.reporting.documents.model import Table

FORMULAS = ("=", "+", "-", "@")  # what a formula begins with
NUMBERS = re.compile(r"-?[\d.]+(e[+-]?\d+)?( -?([\d.]+(e[+-]?\d+)?|inf|nan))*")


def to_csv(table: Table) -> str:
    """One line per row, all columns in full precision; no value is an empty cell."""
    buffer = StringIO()
    writer = csv.DictWriter(buffer, table.names, lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: csv_value(value) for key, value in record.items()} for record in table.records)
    return buffer.getvalue()


def csv_value(value: Any) -> Any:
    """A value as a cell of a CSV file that a spreadsheet shows and does not compute: no text begins a formula.

    Texts of numbers, such as the scores of several runs, stay as they are.
    """
    if value is None:
        return ""
    formula = isinstance(value, str) and value.lstrip()[:1] in FORMULAS and not NUMBERS.fullmatch(value)
    return f"'{value}" if formula else value


def write_table(table: Table, folder: Path) -> None:
    """Write `<name>.md` and `<name>.csv`, and for a paper `<name>.tex`."""
    write: dict[str, Callable[[], str]] = {
        "md": lambda: render.table(table),
        "csv": lambda: to_csv(table),
        "tex": lambda: latex.table(table, f"{folder.name}-{table.name}"),
    }
    for suffix in table.files:
        (folder / f"{table.name}.{suffix}").write_text(write[suffix](), encoding="utf-8")
