"""What a report says in the terminal: its verdicts, and warnings, of which many runs share one line."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

import click

from erlbench.words import counted

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
    """Print the verdicts of a report's own pages, where it has some: the result, then each with what is behind it."""
    from erlbench.reporting.data.comparison import REFERENCE
    from erlbench.reporting.statistics.significance import Case
    from erlbench.reporting.verdict.words import FILE

    if not (report / FILE).is_file():
        return
    cases = [*map(str, Case)]
    stored = json.loads((report / FILE).read_text(encoding="utf-8"))
    for study in stored["studies"]:
        _print_answer(study)
    pages = [name for name in stored["verdicts"] if not f"{name}-".startswith(f"{REFERENCE}-")]
    for name in pages:
        if text := stored["results"][name]:
            _print_wrapped(f"{name}: {text}" if len(pages) > 1 else text)
            click.echo()
    verdicts = [verdict for name in pages for verdict in stored["verdicts"][name]]
    verdicts.sort(key=lambda verdict: cases.index(verdict["case"]))
    details = {verdict["sentence"]: verdict["details"] for verdict in verdicts}
    for sentence in [*details][:MOST]:
        _print_wrapped(sentence)
        _print_wrapped(" ".join(details[sentence]), indent="    ")
        click.echo()
    if len(details) > MOST:
        click.echo(f"{len(details) - MOST} more in {report / FILE}\n")


def _print_answer(study: Mapping[str, Any]) -> None:
    """Print what a study claims, and the verdict of each pair that it compares."""
    if study["claim"]:
        _print_wrapped(f"Claim: {study['claim']}" + (f" ({study['source']})" if study["source"] else ""))
    for pair in study["pairs"][:MOST]:
        _print_wrapped(pair["sentence"], indent="    " if study["claim"] else "")
    if len(study["pairs"]) > MOST:
        click.echo(f"    {len(study['pairs']) - MOST} more")
    if differences := len(study["differences"]):
        click.echo(f"    {study['study']}: {counted(differences, 'difference')} from the study, on its page")
    click.echo()


def _print_wrapped(text: str, indent: str = "") -> None:
    """Print a paragraph at the terminal's width, 80 columns elsewhere."""
    width = get_terminal_size((80, 24)).columns
    click.echo(textwrap.fill(text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False))
