"""Tables on standard output: drawn on a terminal, aligned columns elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from shutil import get_terminal_size

import click

from erlbench.files import Values, printable, strip_unpacked
from erlbench.settings import setting_text

GAP = "  "  # between columns


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print `rows` under `columns`, without borders: as wide as a terminal, elsewhere each row in one line.

    A title has an empty line before it.
    """
    texts = [[strip_unpacked(printable(str(value)).replace("\n", " ")) for value in row] for row in rows]
    title = title and f"\n{strip_unpacked(title)}\n"
    if not sys.stdout.isatty():
        click.echo(title, nl=False)
        widths = [max(map(len, column)) for column in zip(columns, *texts)]
        for row in (columns, *texts):
            click.echo(GAP.join(map(str.ljust, row, widths)).rstrip())
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in texts:
        table.add_row(*map(Text, row))
    width = get_terminal_size().columns  # no 0, as rich has it for COLUMNS=0
    console = Console(width=width, highlight=False)  # honours NO_COLOR and TERM=dumb
    console.print(Text(title, "bold"), end="")
    console.print(table)


def setting_texts(values: Values) -> list[tuple[str, str]]:
    """Rows of a table of settings, the values as `--set` takes them."""
    return [(name, setting_text(value)) for name, value in values.items()]


def settings_line(values: Values) -> str:
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
