"""Cases of a test as a table of text: a case per line, its cells between bars."""

from __future__ import annotations


def cells(text: str) -> list[tuple[str, ...]]:
    return [tuple(cell.strip() for cell in line.split(" | ")) for line in text.strip().splitlines()]
