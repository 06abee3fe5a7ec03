"""Documents as HTML: the inside of a page; charts are places that the page's script fills."""

from __future__ import annotations

import html
import math
import numbers
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, assert_never

from erlbench.reporting.documents.formats import slug
from erlbench.reporting.documents.model import (
    Block,
    Bullets,
    Code,
    Document,
    Figure,
    Heading,
    Link,
    Table,
    TableCell,
    Text,
)

TABLE_FILES = ("csv", "md", "tex")
MOST_ITEMS = 6  # of a list before the rest of it is folded
FILTERED = 6  # rows from which on a table can be filtered
FILTER = '<label>Filter rows <input type="search" class="filter"></label><span class="found" role="status"></span>'
LONG_TEXT = 24  # characters of a cell from which on it may be broken


@dataclass(frozen=True)
class Place:
    """Where a document stands in the page."""

    prefix: str  # of its ids
    folder: str  # of its files, relative to the page; "" for the page's own
    link: Callable[[str], str]  # a document's link target -> the page's

    def id(self, name: str) -> str:
        """An id of the page."""
        return f"{self.prefix}-{slug(name)}"


def document(content: Document, place: Place) -> str:
    """All blocks."""
    return "\n".join(block(one, place, number) for number, one in enumerate(content.blocks))


def charts(content: Document, place: Place) -> dict[str, Mapping[str, Any]]:
    """The data of the document's charts by the id of the place that they fill."""
    figures = (block for block in content.blocks if isinstance(block, Figure))
    return {place.id(figure.name): {"kind": figure.chart.kind, **figure.chart.data}
            for figure in figures if figure.chart}  # fmt: skip


def block(content: Block, place: Place, number: int = 0) -> str:
    """One block, the one of that `number` in its document."""
    match content:
        case Heading():
            level = min(content.level + 1, 6)  # the page's title is its h1
            return f'<h{level} id="{place.id(content.text)}">{escape(content.text)}</h{level}>'
        case Text():
            words = (_link(part, place) if isinstance(part, Link) else escape(part) for part in content.parts)
            opening = '<p class="banner">' if content.banner else "<p>"
            return f"{opening}{''.join(words)}</p>"
        case Bullets():
            shown, folded = content.items[:MOST_ITEMS], content.items[MOST_ITEMS:]
            rest = f"<details><summary>{len(folded)} more</summary>{_list(folded)}</details>" if folded else ""
            return _list(shown) + rest
        case Code():
            return f'<pre tabindex="0"><code>{escape(chr(10).join(content.lines))}</code></pre>'
        case Figure():
            return figure(content, place)
        case Table():
            return table(content, place, content.name or f"table-{number}")
        case _:
            assert_never(content)


def figure(content: Figure, place: Place) -> str:
    """A figure: an empty place for its chart, or its picture where it has none."""
    name = place.id(content.name)
    inside = (
        f'<div class="chart" id="{name}-chart" role="img" aria-label="{escape(content.title)}"></div>'
        '<details class="values"><summary>Values as a table</summary></details>'
        if content.chart
        else f'<img src="{place.folder}{escape(content.name)}.{content.formats[0]}" alt="{escape(content.title)}">'
    )
    kind = content.chart.kind if content.chart else "picture"
    return (
        f'<figure id="{name}" data-kind="{kind}"><h3>{escape(content.title)}</h3>{inside}'
        f"<figcaption>{escape(content.caption)} {_files(content.name, content.formats, place)}</figcaption>"
        f"{_notes(content.notes)}</figure>"
    )


def table(content: Table[Any], place: Place, name: str) -> str:
    """A table whose rows can be sorted and, if there are many, filtered; `name` is its own in the document."""
    name = place.id(name)
    heads = []
    for i, column in enumerate(content.shown):
        side = "left" if column.left else "right"
        note = f' aria-describedby="{name}-{i}" data-note="{name}-{i}"' if column.note else ""
        told = f'<span hidden id="{name}-{i}">{escape(column.note)}</span>' if column.note else ""
        heads.append(
            f'<th scope="col" aria-sort="none" class="{side}"><button type="button" class="sort"{note}>'
            f"{escape(column.header)}</button>{told}</th>"
        )
    sides = ["left" if column.left else "right" for column in content.shown]
    named = _names(content)
    rows = (
        "".join(_cell(cell, side, place, i < named) for i, (cell, side) in enumerate(zip(cells, sides, strict=True)))
        for cells in content.cells
    )
    title = escape(content.title) or "Table"
    tools = FILTER if len(content.rows) >= FILTERED else ""
    tools += _files(content.name, TABLE_FILES, place) if content.name else ""
    return (
        f'<section class="table" id="{name}">'
        + (f"<h3>{title}</h3>" if content.title else "")
        + (f'<div class="tools">{tools}</div>' if tools else "")
        + f'<div class="scroll" tabindex="0" role="region" aria-label="{title}"><table><thead><tr>{"".join(heads)}</tr>'
        f"</thead><tbody>{''.join(f'<tr>{row}</tr>' for row in rows)}</tbody></table></div>"
        f"{_notes(content.notes)}</section>"
    )


def escape(text: str) -> str:
    """A text of anybody's as text: no tag, no attribute's end."""
    return html.escape(text, quote=True)


def _names(content: Table[Any]) -> int:
    """How many columns name a row: the first, and the second where several rows share the first."""
    firsts = [cells[0].text for cells in content.cells]
    return 1 + (len(set(firsts)) < len(firsts) and len(content.shown) > 2 and content.shown[1].left)


def _cell(cell: TableCell, side: str, place: Place, names_row: bool) -> str:
    text = _link(Link(cell.text, cell.link), place) if cell.link else escape(cell.text)
    value = ""
    if isinstance(cell.value, numbers.Real) and math.isfinite(cell.value):
        value = f' data-value="{float(cell.value)!r}"'
    long = " long" if side == "left" and len(cell.text) > LONG_TEXT else ""
    tag, scope = ("th", ' scope="row"') if names_row else ("td", "")
    return f'<{tag}{scope} class="{side}{long}{" " + escape(cell.style) if cell.style else ""}"{value}>{text}</{tag}>'


def _link(link: Link, place: Place) -> str:
    return f'<a href="{escape(place.link(link.target))}">{escape(link.text)}</a>'


def _files(name: str, suffixes: tuple[str, ...], place: Place) -> str:
    links = (f'<a href="{escape(f"{place.folder}{name}.{suffix}")}">{suffix.upper()}</a>' for suffix in suffixes)
    return f'<span class="files">{" ".join(links)}</span>'


def _notes(notes: tuple[str, ...] | list[str]) -> str:
    if not notes:
        return ""
    return f'<details class="notes"><summary>Notes</summary>{_list(notes)}</details>'


def _list(items: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(item)}</li>' for item in items)}</ul>"
