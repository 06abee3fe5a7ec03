"""What a report says in the terminal: its verdicts, and warnings, of which many runs share one line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from erlbench.reporting.data.remarks import Remark, Warn

MOST = 8  # verdicts that are printed


@contextmanager
def notices() -> Iterator[Warn]:
    """Collect remarks, and print them when the block ends, even after an error."""
    from erlbench.reporting.data.remarks import as_remark, folded

    remarks: list[Remark] = []
    try:
        yield lambda said: remarks.append(as_remark(said))
    finally:
        for sentence in folded(remarks):
            click.echo(f"erlbench: {sentence}", err=True)


def print_verdicts(report: Path) -> None:
    """Print the verdicts of a report's own pages, where it has some."""
    from erlbench.reporting.data.comparison import REFERENCE
    from erlbench.reporting.verdict.stored import FILE

    if not (report / FILE).is_file():
        return
    pages = json.loads((report / FILE).read_text(encoding="utf-8"))["verdicts"]
    own = [page for name, page in pages.items() if not f"{name}-".startswith(f"{REFERENCE}-")]
    lines = list(dict.fromkeys(one["sentence"] for page in own for one in page))
    for line in lines[:MOST]:
        click.echo(f"{line}\n")
    if len(lines) > MOST:
        click.echo(f"{len(lines) - MOST} more in {report / FILE}\n")
