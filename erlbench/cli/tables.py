"""Tables on standard output: drawn on a terminal, aligned columns elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from erlbench.files import printable
from erlbench.settings import setting_text

SHORT = 22  # characters of a column that is not wrapped if there is room
GAP = 2  # characters between columns


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print `rows` under `columns`, without borders.

    On a terminal it is as wide as that: later columns are wrapped between words, the first one, the names, is not.
    Elsewhere each row is one line.
    """
    texts = [[printable(str(value)).replace("\n", " ") for value in row] for row in rows]
    if sys.stdout.isatty():
        from rich import box
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(title=title or None, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
        table.show_edge = table.pad_edge = False
        table.collapse_padding = True
        console = Console(highlight=False)  # honours NO_COLOR
        widths = [max(map(len, column)) for column in zip(columns, *texts)]
        whole = {0, *(index for index, width in enumerate(widths) if width <= SHORT)}
        if sum(widths[index] + GAP for index in whole) > console.width:
            whole = {0}
        fixed = _widths([list(column) for column in zip(columns, *texts)], console.width)
        for index, column in enumerate(columns):
            width = None if fixed is None else fixed[index]
            table.add_column(column, no_wrap=index in whole, overflow="fold", width=width)
        for row in texts:
            table.add_row(*map(Text, row))
        console.print(table)
        return
    if title:
        click.echo(title)
    widths = [max(map(len, column)) for column in zip(columns, *texts)]
    for row in [list(columns), *texts]:
        click.echo("  ".join(value.ljust(width) for value, width in zip(row, widths)).rstrip())


def _widths(columns: Sequence[Sequence[str]], room: int) -> list[int] | None:
    """Widths with which no word is broken, the first columns' texts whole where there is room; None: none are."""
    widths = [max((len(word) for text in column for word in text.split()), default=1) for column in columns]
    room -= sum(widths) + GAP * (len(widths) - 1)
    if room < 0:
        return None
    for index, column in enumerate(columns):
        more = min(room, max(map(len, column)) - widths[index])
        widths[index] += more
        room -= more
    return widths


def setting_texts(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Rows of a table of settings, the values as `--set` takes them."""
    return [(name, setting_text(tuple(value) if isinstance(value, list) else value)) for name, value in values.items()]


def duration(seconds: float) -> str:
    """A time in a reader's units: "40 s", "12 min", "3.4 h"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def size(count: float) -> str:
    """Bytes in a reader's units."""
    return f"{count / 2**20:.0f} MiB" if count < 2**30 else f"{count / 2**30:.1f} GiB"
