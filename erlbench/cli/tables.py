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

SHORT = 22  # characters of a column that is not wrapped if there is room
BRIEF = 8  # characters of a text that stays on one line, such as "12 min"
LONG = 12  # letters of a word that may be broken
GAP = 2  # characters between columns


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print `rows` under `columns`, without borders.

    On a terminal it is as wide as that: later columns are wrapped between words, then paths after a slash, then long
    words are broken. Elsewhere each row is one line.
    """
    title, texts = strip_unpacked(title), [[strip_unpacked(printable(str(value)).replace("\n", " ")) for value in row]
                                          for row in rows]  # fmt: skip
    if sys.stdout.isatty():
        from rich import box
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD)
        table.show_edge = table.pad_edge = False
        table.collapse_padding = True
        console = Console(highlight=False)  # honours NO_COLOR
        lists = [list(column) for column in zip(columns, *texts)]
        longest = [max(map(len, column)) for column in lists]
        whole = {0, *(index for index, width in enumerate(longest) if width <= SHORT)}
        if sum(longest[index] + GAP for index in whole) > console.width:
            whole = {0}
        fixed = _widths(lists, console.width)
        for index, column in enumerate(columns):
            width = None if fixed is None else fixed[index]
            table.add_column(column, no_wrap=width is None and index in whole, overflow="fold", width=width)
        if fixed is not None:
            texts = [[_folded(text, width) for text, width in zip(row, fixed)] for row in texts]
        if title:
            console.print(Text(title, style="bold"))
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
    """Widths for `room` characters, the first columns' texts whole if possible; None: no widths keep short words whole.

    No word is broken if there is room for that; else paths are broken after a slash, else words of `LONG` letters.
    """
    room -= GAP * (len(columns) - 1)
    for pieces in (_words, _parts, _stumps):
        widths = [max((len(piece) for text in column for piece in pieces(text)), default=1) for column in columns]
        if (free := room - sum(widths)) >= 0:
            break
    else:
        return None
    for index, column in enumerate(columns):
        more = min(free, max(map(len, column)) - widths[index])
        widths[index] += more
        free -= more
    return widths


def _words(text: str) -> list[str]:
    return text.split() if len(text) > BRIEF else [text]


def _parts(text: str) -> list[str]:
    """Words, paths as their folders."""
    return [part for word in _words(text) for part in re.findall("[^/]*/|[^/]+", word)]


def _stumps(text: str) -> list[str]:
    return [part[:LONG] for part in _parts(text)]


def _folded(text: str, width: int) -> str:
    """`text` with a new line after the last slash that fits, in each word of more than `width` characters."""
    lines: list[str] = []
    for word in re.findall(r"\s*\S+", text):
        if len(word) <= width:
            lines.append(word)
            continue
        line = word[: len(word) - len(word.lstrip())]
        for part in _parts(word):
            if line.strip() and len(line) + len(part) > width:
                lines.append(f"{line}\n")
                line = ""
            line += part
        lines.append(line)
    return "".join(lines)


def setting_texts(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Rows of a table of settings, the values as `--set` takes them."""
    return [(name, setting_text(value)) for name, value in values.items()]


def duration(seconds: float) -> str:
    """A time in a reader's units: "40 s", "12 min", "3.4 h"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def size(count: float) -> str:
    """Bytes in a reader's units."""
    return f"{count / 2**20:.0f} MiB" if count < 2**30 else f"{count / 2**30:.1f} GiB"
