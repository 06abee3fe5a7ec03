"""Warnings of a report on standard error: what many runs have in common is one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from erlbench.reporting.data.remarks import Remark, Warn


@contextmanager
def notices() -> Iterator[Warn]:
    """Collect remarks, and print them when the block ends, also by an error."""
    from erlbench.reporting.data.remarks import as_remark, folded

    remarks: list[Remark] = []
    try:
        yield lambda said: remarks.append(as_remark(said))
    finally:
        for sentence in folded(remarks):
            click.echo(f"erlbench: {sentence}", err=True)
