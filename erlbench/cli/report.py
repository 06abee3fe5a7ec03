"""`erlbench report`: tables, curves and timelines from the results there are."""

from __future__ import annotations

from itertools import groupby

import click

from erlbench.cli.notices import notices, print_verdicts
from erlbench.cli.options import options_command
from erlbench.cli.tables import print_table
from erlbench.reporting.options import ReportOptions

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
    from erlbench.reporting.request import requested_report

    with notices() as warn:
        index, table = requested_report(options, warn)
    print_verdicts(index.parent)
    if table is not None:
        places = [place for place, column in enumerate(table.shown) if column.names[0] in PRINTED]
        header = [table.header[place] for place in places]
        for environment, rows in groupby(table.cells, key=lambda cells: cells[0].text):
            print_table(environment, header, [[row[place].text for place in places] for row in rows])
        for remark in table.remarks[1:]:  # the first says what a run set is
            click.echo(remark)
    click.echo(index)
