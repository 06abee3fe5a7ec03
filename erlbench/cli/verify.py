"""`erlbench verify`: recomputes what can be recomputed of finished runs, and compares two runs bit by bit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from erlbench.cli.tables import print_table
from erlbench.errors import UsageError
from erlbench.records.run import run_folders, without_runs

if TYPE_CHECKING:
    from erlbench.verification import Check


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path(path_type=Path))
@click.option(
    "--same-as", metavar="RUN", type=click.Path(path_type=Path), help="compare with this run instead, bit by bit"
)
@click.option("--again", type=click.IntRange(min=0), metavar="N",
              help="run the run again up to its evaluation N, and compare the digests of its states")  # fmt: skip
@click.option("--from", "start", type=click.IntRange(min=0), metavar="N",
              help="with --again: begin at the kept checkpoint of evaluation N")  # fmt: skip
@click.option("--processes", type=click.IntRange(0, 1024), default=0, metavar="N",
              help="worker processes that play [default: 0, one]")  # fmt: skip
@click.option("--seconds", type=click.FloatRange(min=1), metavar="S",
              help="for playing a run's policies [default: 60, and 1 for each 100 steps], or for --again [default: 60 "
              "and what the run recorded, at most 6 hours]")  # fmt: skip
@click.option("--import", "trusted", is_flag=True, help="import the modules of environments MODULE:ID")
@click.option("-v", "--verbose", is_flag=True, help="all checks of all runs, with the reasons")
def command(
    runs: tuple[Path, ...], same_as: Path | None, again: int | None, start: int | None, processes: int, trusted: bool,
    seconds: float | None, verbose: bool,
) -> None:  # fmt: skip
    """Check the runs in the folders RUN, or all runs below them.

    Rows are computed again from the raw files and compared with those of other files, files are compared with their
    checksums, settings with those of each start, and the saved policies play their evaluations again: every return
    must be equal to the last bit. Runs of different seeds must not be copies of one another. What cannot be verified
    is named with the reason. Exit code 1 when something differs.

    \b
    Examples:
      erlbench verify results/Walker2d-v5/td3/seed-000
      erlbench verify results -v
      erlbench verify study.zip
      erlbench verify results/Walker2d-v5/td3/seed-000 \\
        --same-as again/Walker2d-v5/td3/seed-000
      erlbench verify results/Walker2d-v5/td3/seed-000 --again 3
    """
    from erlbench.bundle import open_bundles

    with open_bundles([*runs, *([same_as] if same_as else [])]) as found:
        _verify(found[: len(runs)], found[-1] if same_as else None, again, start, processes, trusted, seconds, verbose)


def _verify(
    runs: Sequence[Path], same_as: Path | None, again: int | None, start: int | None, processes: int, trusted: bool,
    seconds: float | None, verbose: bool,
) -> None:  # fmt: skip
    from erlbench.verification import AGREES, DIFFERS, UNKNOWN, load_files, verify_all
    from erlbench.verification.again import run_again
    from erlbench.verification.same import same

    if same_as is not None:
        if len(runs) > 1:
            raise UsageError("--same-as compares one run with another; give one RUN")
        checks = list(same(load_files(runs[0]), load_files(same_as)))
        print_table("", ("file", "result", "what"), [(c.name, c.outcome, c.text) for c in checks])
        _exit(any(check.outcome == DIFFERS for check in checks))
        return
    if start is not None and again is None:
        raise UsageError("--from needs --again: the evaluation up to which the run is run again")
    paths = list(dict.fromkeys(path for folder in runs for path in _runs(folder)))
    if again is not None:
        found = {path: [run_again(path, again, start, processes, trusted, seconds)] for path in paths}
    else:
        found = verify_all(paths, trusted, processes, seconds)
    differing = [path for path, checks in found.items() if any(check.outcome == DIFFERS for check in checks)]
    if len(found) > 1:
        rows = [
            (path, *(_names(checks, outcome) for outcome in (AGREES, DIFFERS, UNKNOWN)))
            for path, checks in found.items()
        ]
        print_table("", ("run", "agree", "differ", "cannot be verified"), rows)
    for path in [*found] if verbose or len(found) == 1 else differing:
        title = str(path) if len(found) > 1 else ""
        print_table(title, ("check", "result", "what"), [(c.name, c.outcome, c.text) for c in found[path]])
    if len(found) > 1:
        partly = sum(any(check.outcome == UNKNOWN for check in checks) for checks in found.values())
        click.echo(f"{len(found)} runs, {len(differing)} with differences, {partly} not verified in full")
    _exit(bool(differing))


def _names(checks: Sequence[Check], outcome: str) -> str:
    from erlbench.verification import AGREES

    named = [check.name for check in checks if check.outcome == outcome]
    return str(len(named)) if outcome == AGREES else ", ".join(named) or "-"


def _runs(folder: Path) -> list[Path]:
    runs = run_folders(folder)
    if not runs:
        raise UsageError(without_runs(folder))
    return runs


def _exit(failed: bool) -> None:
    if failed:
        click.get_current_context().exit(1)
