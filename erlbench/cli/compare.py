"""`erlbench compare`: folders of results side by side."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import click

from erlbench.cli.notices import notices, print_verdicts
from erlbench.cli.tables import print_table
from erlbench.errors import UsageError

PRINTED = (
    "name",
    "folder",
    "mean_first",
    "mean",
    "change_pct",
    "identity",
    "settings",
    "p_holm",
)  # columns, by their names in CSV


@click.command()
@click.argument("folders", nargs=-1, metavar="A B [C]...", type=click.Path(path_type=Path))
@click.option("--out", default="comparison", show_default=True, metavar="DIR", type=click.Path(path_type=Path),
              help="folder of the report")  # fmt: skip
@click.option("--metric", default="auto", show_default=True, metavar="auto|curve|final|...",
              help="the score of a run: the mean of its curve over the last fifth that all share, its final one, "
              "the mean of its last ten, or the mean over training; auto: the curve where all runs have it, else final",
)  # fmt: skip
def command(folders: tuple[Path, ...], out: Path, metric: str) -> None:
    """Compare folders of results: two commits, two machines, two people.

    Runs with the same environment, name and budget are a run set. Each run set of the folder A stands beside that of B
    (and C ...), with the difference, its interval and its test. A run that two folders hold counts in both.

    \b
    Examples:
      erlbench compare results-before results-after
      erlbench compare results/mine results/yours --metric area --out both
      erlbench compare results/mine yours.zip
    """
    from erlbench.bundle import open_bundles
    from erlbench.experiment.studies import known_studies
    from erlbench.reporting import build_comparison
    from erlbench.reporting.options import ReportOptions

    if len({folder.resolve() for folder in folders}) < len(folders):
        raise UsageError("compare was given the same folder twice; name folders with different runs")
    with open_bundles(folders) as found, notices() as warn:
        page, table = build_comparison(found, out, warn, ReportOptions(metric=metric), known_studies().values())
    print_verdicts(page.parent)
    places = [i for i, column in enumerate(table.shown) if column.names[0] in PRINTED]
    for environment, cells in groupby(table.cells, key=lambda cells: cells[0].text):
        print_table(environment, [table.header[i] for i in places], [[row[i].text for i in places] for row in cells])
    for remark in table.remarks[1:]:  # the first stands in the help: what a run set is
        click.echo(remark)
    click.echo(page)
