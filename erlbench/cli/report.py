"""`erlbench report`: tables, curves and timelines from the results there are."""

from __future__ import annotations

from pathlib import Path

import click

from erlbench.errors import UsageError
from erlbench.studies import Study, find_profile, load_studies


@click.command()
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
    "--profile",
    metavar="NAME",
    help="budget of the runs, which tells how many were planned [default: the folder's name]",
)
@click.option(
    "--columns",
    default="",
    metavar="NAME[,NAME...]",
    help="draw these columns of train.csv, too, a panel each; NAME+NAME are in one panel",
)
def command(results: tuple[Path, ...], out: Path, study: tuple[str, ...], profile: str | None, columns: str) -> None:
    """Write tables and curves from the results in the folders DIR [default: results].

    Running, interrupted and failed runs are shown as such; missing ones count as missing, never as zero.

    \b
    Examples:
      erlbench report
      erlbench report results/smoke --out report
      erlbench report results/laptop --study aes-rl-table-1,aes-rl-table-3
      erlbench report --columns sigma,score_es+score_sac
    """
    from erlbench.studies import find

    folders = results or (Path("results"),)
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"there is no folder {folder}; give the folders that `erlbench run` wrote")
    known = load_studies()
    names = [name for part in study for name in part.split(",") if name] or list(known)
    chosen = {name: find(known, name) for name in names}
    if profile is None:
        profile = _profile_of(folders, chosen)
    else:
        for one in chosen.values():
            find_profile(one, profile)
    from erlbench.report import build

    click.echo(
        build(folders, out, chosen, profile, lambda message: click.echo(f"erlbench: {message}", err=True), columns)
    )


def _profile_of(folders: tuple[Path, ...], studies: dict[str, Study]) -> str | None:
    """The profile that all folders are named after, if any."""
    profiles = {name for study in studies.values() for name in study.profiles}
    names = {folder.resolve().name for folder in folders}
    return names.pop() if len(names) == 1 and names <= profiles else None
