"""`erlbench report`: tables, curves and timelines from the results there are."""

from __future__ import annotations

import json
import textwrap
from itertools import groupby
from pathlib import Path
from shutil import get_terminal_size

import click

from erlbench.cli.options import options_command
from erlbench.cli.tables import print_table
from erlbench.reporting.options import ReportOptions
from erlbench.words import counted

MOST = 6  # verdicts that are printed

PRINTED = (
    "name",
    "folder",
    "mean_first",
    "mean",
    "change_pct",
    "identity",
    "settings",
    "p_holm",
)  # columns of folders side by side, by their names in CSV


@options_command(ReportOptions)
def command(options: ReportOptions) -> None:
    """Write tables and curves from the results in the folders DIR [default: results]: open report/index.html.

    A DIR may be a bundle. A study.toml in DIR, or in a folder between it and the runs, is answered: its claim, and a
    verdict of each pair that it compares. Running, interrupted and failed runs are shown as such; missing ones count
    as missing, never as zero.

    \b
    Examples:
      erlbench report
      erlbench report results/laptop --study aes-rl-table-1,aes-rl-table-3
      erlbench report results/hopper --baseline td3 --metric area
      erlbench report results/hopper --at 300000
      erlbench report results/hopper --reach=1000,2000
      erlbench report results/lander --x generation --columns sigma
      erlbench report results --paper style.toml --formats png,pdf
      erlbench report results-before results-after --side-by-side
    """
    from erlbench.reporting import requested_report
    from erlbench.reporting.cells import fold

    warnings: list[str] = []
    try:
        index, table = requested_report(options, warnings.append)
    finally:  # also after an error; many runs share a line
        for sentence in fold(warnings):
            click.echo(f"erlbench: {sentence}", err=True)
    _print_verdicts(index.parent)
    if table is not None:
        places = [place for place, column in enumerate(table.shown) if column.values[0] in PRINTED]
        header = [table.header[place] for place in places]
        for environment, rows in groupby(table.cells, key=lambda cells: cells[0].text):
            print_table(environment, header, [[row[place].text for place in places] for row in rows])
        for remark in table.remarks[1:]:  # the first explains run sets
            click.echo(remark)
    click.echo(index)


def _print_verdicts(report: Path) -> None:
    """Print the verdicts of a report's pages: the result, then each verdict with its details."""
    from erlbench.reporting.page_cells import REFERENCE
    from erlbench.reporting.words import FILE, select_spoken

    if not (report / FILE).is_file():
        return
    stored = json.loads((report / FILE).read_text(encoding="utf-8"))
    for study in stored["studies"]:  # what it claims, and the verdict of each pair that it compares
        claim, pairs = study["claim"], study["pairs"]
        if claim:
            _print_wrapped(f"Claim: {claim}" + (f" ({study['source']})" if study["source"] else ""))
        for pair in pairs[:MOST]:
            _print_wrapped(pair["sentence"], indent="    " if claim else "")
        if len(pairs) > MOST:
            click.echo(f"    {len(pairs) - MOST} more")
        if differences := len(study["differences"]):
            click.echo(f"    {study['study']}: {counted(differences, 'difference')} from the study, on its page")
        click.echo()
    pages = [name for name in stored["verdicts"] if not f"{name}-".startswith(f"{REFERENCE}-")]
    for name in pages:
        if text := stored["results"][name]:
            _print_wrapped(f"{name}: {text}" if len(pages) > 1 else text)
            click.echo()
    verdicts = [verdict for name in pages for verdict in stored["verdicts"][name]]
    spoken = [verdicts[i] for i in select_spoken([verdict["case"] for verdict in verdicts])]
    details = {verdict["sentence"]: verdict["details"] for verdict in spoken}
    for sentence in [*details][:MOST]:
        _print_wrapped(sentence)
        _print_wrapped(" ".join(details[sentence]), indent="    ")
        click.echo()
    if len(details) > MOST:
        click.echo(f"{len(details) - MOST} more in {report / FILE}\n")


def _print_wrapped(text: str, indent: str = "") -> None:
    """Print a paragraph at the terminal's width, 80 columns elsewhere."""
    width = get_terminal_size((80, 24)).columns
    click.echo(textwrap.fill(text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False))
