"""Words of messages."""

from __future__ import annotations

from collections.abc import Collection


def counted(number: int, singular: str, plural: str = "") -> str:
    """A number with its noun: "1 process", "2,000 steps"; `plural` where it takes more than an s."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def say_range(numbers: Collection[int]) -> str:
    """The smallest and the largest: "5,000 to 6,000", or "5,000" where all are equal; empty without any."""
    return " to ".join(f"{number:,}" for number in dict.fromkeys((min(numbers), max(numbers)))) if numbers else ""
