"""Warnings of a report on standard error: what many runs have in common is one line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click


@contextmanager
def notices() -> Iterator[Callable[[str], None]]:
    """Collect warnings, and print them when the block ends, even after an error."""
    from erlbench.reporting.folding import folded

    messages: list[str] = []
    try:
        yield messages.append
    finally:
        for message in folded(messages):
            click.echo(f"erlbench: {message}", err=True)
