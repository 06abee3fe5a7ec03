"""`erlbench report`: tables, curves and timelines from the results there are."""

from __future__ import annotations

import re
from pathlib import Path

import click

from erlbench.cli.notices import notices, print_verdicts


class _Report(click.Command):
    """Takes negative scores: click reads `--reach=-150` as `--reach` without scores and an option -150."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [re.sub("^--reach=-", "--reach= -", arg) for arg in args])


@click.command(cls=_Report)
@click.argument("results", nargs=-1, metavar="[DIR]...", type=click.Path(path_type=Path))
@click.option(
    "--out",
    default="report",
    show_default=True,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="folder of the report",
)
@click.option("--study", multiple=True, metavar="NAME[,NAME...]", help="only these studies [default: all]")
@click.option(
    "--at",
    metavar="STEPS|MINUTESmin",
    help="compare all runs at this number of training steps or minutes, whatever their budgets are, by the nearest "
    "evaluation",
)
@click.option("--studies", multiple=True, metavar="FILE", help="a file with studies of your own")
@click.option(
    "--profile",
    metavar="NAME",
    help="profile of the runs, which says how many runs were planned [default: the folder's name]",
)
@click.option(
    "--columns",
    default="",
    metavar="NAME[,NAME...]",
    help="draw these columns of train.csv, too, a panel each; NAME+NAME are in one panel",
)
@click.option(
    "--reach",
    is_flag=False,
    flag_value="published",
    metavar="[SCORE[,SCORE...]]",
    help="a table of the training steps to these scores [without scores: the published ones of the environment]",
)
@click.option(
    "--x",
    default="",
    metavar="AXIS",
    help="x-axis of the curves: timesteps, nominal, simulator-steps, all-steps, time, updates, generation, episodes "
    "[default: the paper's and training steps; without a paper's: training steps and time]",
)
@click.option(
    "--smooth",
    default=1,
    show_default=True,
    metavar="N",
    type=int,
    help="draw each run as the moving average of its last N evaluations (rows, for --columns)",
)
@click.option(
    "--band",
    default="auto",
    show_default=True,
    metavar="auto|range",
    help="band of the curves; auto: interval of the mean from six runs on, else lowest to highest; range: the latter",
)
@click.option(
    "--baseline", default="", metavar="NAME", help="compare all others with these runs [default: the study's own]"
)
@click.option(
    "--metric",
    default="auto",
    show_default=True,
    metavar="auto|curve|final|...",
    help="the score of a run: the mean of its curve over the last fifth that all share, its final evaluation, the mean "
    "of its last ten, or the mean over training; auto: the curve where all runs have it, else final",
)
@click.option(
    "--reference",
    metavar="DIR",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="results to open the report with, on a page of their own",
)
@click.option(
    "--failed",
    default="last",
    show_default=True,
    metavar="last|initial",
    help="score of failed runs in the row that includes them: of their last evaluation, or of the one before training",
)
@click.option(
    "--formats",
    default="png",
    show_default=True,
    metavar="FORMAT[,FORMAT...]",
    help="draw each figure in these formats: png, svg, pdf",
)
@click.option("--table", is_flag=True, help="a table for a paper: algorithms and environments, as .tex, .md and .csv")
@click.option(
    "--statistic",
    default="std",
    show_default=True,
    metavar="std|mean|iqm|median",
    help="cells of --table: the mean with its standard deviation, or mean, interquartile mean or median with a 95 % "
    "interval",
)
@click.option(
    "--checklist",
    is_flag=True,
    help="the reproducibility checklist of NeurIPS, items 4 to 8 and 12, filled in from the runs: checklist/index.md",
)
@click.option("--grid", is_flag=True, help="one figure with the curves of all environments and one legend")
@click.option(
    "--style",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="a TOML file with order, labels, colours, size and font of --table and --grid",
)
def command(
    results: tuple[Path, ...],
    out: Path,
    study: tuple[str, ...],
    at: str | None,
    studies: tuple[str, ...],
    profile: str | None,
    columns: str,
    reach: str | None,
    x: str,
    smooth: int,
    band: str,
    baseline: str,
    metric: str,
    reference: Path | None,
    failed: str,
    formats: str,
    table: bool,
    statistic: str,
    checklist: bool,
    grid: bool,
    style: Path | None,
) -> None:
    """Write tables and curves from the results in the folders DIR [default: results]: open report/index.html.

    A DIR may be a bundle, which `erlbench convert --to bundle` wrote.

    Running, interrupted and failed runs are shown as such; missing ones count as missing, never as zero.

    \b
    Examples:
      erlbench report
      erlbench report results/smoke --out report
      erlbench report results/laptop --study aes-rl-table-1,aes-rl-table-3
      erlbench report --columns sigma,score_es+score_sac
      erlbench report results/lander --x generation --smooth 20 --band range
      erlbench report results/swimmer --reach
      erlbench report results/hopper --baseline td3 --metric area
      erlbench report results/hopper --reach=1000,2000
      erlbench report results/hopper --at 300000
      erlbench report results/hopper --at 30min
      erlbench report results/hopper --formats png,pdf
      erlbench report study.zip
      erlbench report results --table --statistic iqm --grid --style paper.toml
      erlbench report results --checklist
    """
    from erlbench.reporting.options import parse_options
    from erlbench.reporting.request import requested_report

    options = parse_options(
        columns,
        reach,
        at,
        x=x,
        smooth=smooth,
        band=band,
        baseline=baseline,
        metric=metric,
        failed=failed,
        formats=formats,
        table=table,
        statistic=statistic,
        checklist=checklist,
        grid=grid,
        style=style,
    )
    names = [name for part in study for name in part.split(",") if name]
    with notices() as warn:
        index = requested_report(
            results or (Path("results"),), out, options, study=names, studies=studies, profile=profile,
            reference=reference, warn=warn,
        )  # fmt: skip
    print_verdicts(index.parent)
    click.echo(index)
