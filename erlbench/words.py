"""Words of messages."""

from __future__ import annotations


def counted(number: int, one: str, several: str = "") -> str:
    """A number with its noun: "1 process", "2,000 steps"; `several` is the plural where it takes more than an s."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"
