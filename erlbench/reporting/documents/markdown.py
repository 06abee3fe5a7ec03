"""Documents as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never

from erlbench.reporting.documents.model import (
    BOLD,
    ITALIC,
    Block,
    Bullets,
    Code,
    Document,
    Figure,
    Folds,
    Heading,
    Inline,
    Link,
    Table,
    TableCell,
    Text,
)


def document(content: Document) -> str:
    """The whole document."""
    return "\n".join(block(one) for one in content.blocks)


def block(content: Block) -> str:
    """One block, with a line end."""
    match content:
        case Heading():
            return f"{'#' * content.level} {escape(content.text)}\n"
        case Text():
            words = "".join(map(_part, content.parts))
            return f"> **{words}**\n" if content.banner else words + "\n"
        case Bullets():
            return "\n".join(f"- {escape(item)}" for item in content.items) + "\n"
        case Folds():
            lines = (f"- {escape(one.line)}\n" + "".join(f"  - {escape(item)}\n" for item in one.items)
                     for one in content.items)  # fmt: skip
            return "".join(lines)
        case Code():
            return "\n".join(["```sh", *content.lines, "```"]) + "\n"
        case Figure():
            notes = "".join(f"- {escape(note)}\n" for note in content.notes)
            shown = f"![{escape(content.title)}]({content.picture})" if content.picture else escape(content.title)
            files = f"Files: {_files(content.name, content.formats)}" if content.formats else "Drawn in index.html."
            return f"{shown}\n\n{escape(content.caption)} {files}\n" + (notes and f"\n{notes}")
        case Table():
            files = f"\nFiles: {_files(content.name, content.files)}\n" if content.name else ""
            return table(content) + files
        case _:
            assert_never(content)


def table(content: Table[Any]) -> str:
    """The title, the table, and the notes as a list."""
    marks = ["---" if column.left else "---:" for column in content.shown]
    title = [f"**{escape(content.title)}**", ""] if content.title else []
    lines = [*title, _row(list(map(escape, content.header))), _row(marks)]
    lines += [_row(list(map(_cell, cells))) for cells in content.cells]
    return "\n".join([*lines, "", *(f"- {escape(note)}" for note in content.notes), ""])


def escape(text: str) -> str:
    """A text from a run (a message, a path) as one line of Markdown without markup."""
    for character in "\\`*_[]<>|":
        text = text.replace(character, "\\" + character)
    return " ".join(text.split())


def _part(part: Inline) -> str:
    return f"[{escape(part.text)}]({part.target})" if isinstance(part, Link) else _inline(part)


def _inline(text: str) -> str:
    """One line without markup; spaces at its ends stay, for a link may stand beside it."""
    escaped = escape(text)
    return f"{' ' if text[:1].isspace() else ''}{escaped}{' ' if text[-1:].isspace() and escaped else ''}"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cell(cell: TableCell) -> str:
    text = f"[{escape(cell.text)}]({cell.link})" if cell.link else escape(cell.text)
    mark = {BOLD: "**", ITALIC: "*"}.get(cell.style, "")
    return f"{mark}{text}{mark}"


def _files(name: str, suffixes: Sequence[str]) -> str:
    return ", ".join(f"[{suffix}]({name}.{suffix})" for suffix in suffixes)
