"""Tables on standard output: drawn on a terminal, aligned columns elsewhere."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from erlbench.bundle import strip_unpacked
from erlbench.files import printable
from erlbench.settings import setting_text

GAP = 2  # characters between columns
# What is not broken, the most that there is room for: words, folders of paths, twelve letters; "12 min" is a word.
WHOLE = (r"^.{1,8}$|\S+", r"^.{1,8}$|[^\s/]*/|[^\s/]+", r"^.{1,8}$|[^\s/]{,11}/|[^\s/]{1,12}")


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print `rows` under `columns`, without borders.

    On a terminal it is as wide as that: later columns are wrapped between words, then paths after a slash, then long
    words are broken. Elsewhere each row is one line.
    """
    title = strip_unpacked(title)
    texts = [[strip_unpacked(printable(str(value)).replace("\n", " ")) for value in row] for row in rows]
    aligned = [*zip(columns, *texts)]
    if not sys.stdout.isatty():
        if title:
            click.echo(title)
        widths = [max(map(len, column)) for column in aligned]
        for row in [columns, *texts]:
            click.echo((" " * GAP).join(map(str.ljust, row, widths)).rstrip())
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True)
    console = Console(highlight=False)  # honours NO_COLOR
    shares = _share_width(aligned, console.width - GAP * (len(columns) - 1))
    for column, width in zip(columns, shares):
        table.add_column(column, no_wrap=not (width or table.columns), overflow="fold", width=width)
    if title:
        console.print(Text(title, style="bold"))
    for row in texts:
        table.add_row(*(Text(_break_paths(*cell)) for cell in zip(row, shares)))
    console.print(table)


def _share_width(columns: Sequence[Sequence[str]], room: int) -> list[int] | list[None]:
    """Widths for `room` characters, the first columns' texts whole if possible; None where not even short words fit."""
    for pattern in WHOLE:
        widths = [max((len(piece) for text in column for piece in re.findall(pattern, text)), default=1)
                  for column in columns]  # fmt: skip
        if (free := room - sum(widths)) >= 0:
            break
    else:
        return [None] * len(columns)
    for index, column in enumerate(columns):
        more = min(free, max(map(len, column)) - widths[index])
        widths[index] += more
        free -= more
    return widths


def _break_paths(text: str, width: int | None) -> str:
    """`text` with a new line after the last slash that fits, in each word of more than `width` characters."""
    return re.sub(rf"(?=\S{{{width + 1}}})\S{{,{width - 1}}}/", r"\g<0>\n", text) if width else text


def setting_texts(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Rows of a table of settings, the values as `--set` takes them."""
    return [(name, setting_text(value)) for name, value in values.items()]


def settings_line(values: Mapping[str, Any]) -> str:
    """Settings in a line: "sigma=0.1, hidden=400-300"."""
    return ", ".join(map("=".join, setting_texts(values)))


def duration(seconds: float) -> str:
    """A time in a reader's units: "40 s", "12 min", "3.4 h"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def size(count: float) -> str:
    """Bytes in a reader's units."""
    return f"{count / 2**20:.0f} MiB" if count < 2**30 else f"{count / 2**30:.1f} GiB"
