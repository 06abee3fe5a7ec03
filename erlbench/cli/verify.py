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
@click.option("--import", "trusted", is_flag=True, help="import the modules of environments MODULE:ID")
@click.option("-v", "--verbose", is_flag=True, help="all checks of all runs, with the reasons")
def command(runs: tuple[Path, ...], same_as: Path | None, again: int | None, trusted: bool, verbose: bool) -> None:
    """Check the runs in the folders RUN, or all runs below them.

    Files must have their checksums and all that their version writes, rows must agree with those of other files, and
    the saved policies play their evaluations again: each return must be equal to the last bit. Runs of different seeds
    must not be copies. What cannot be verified is named with the reason. Exit code 1 if something differs.

    \b
    Examples:
      erlbench verify results/Walker2d-v5/td3/seed-000
      erlbench verify results -v
      erlbench verify study.zip
      erlbench verify results/Walker2d-v5/td3/seed-000 \\
        --same-as again/Walker2d-v5/td3/seed-000
      erlbench verify results/Walker2d-v5/td3/seed-000 --again 3
    """
    from erlbench.bundle.read import opened

    with opened([*runs, *([same_as] if same_as else [])]) as found:
        _verify(found[: len(runs)], found[-1] if same_as else None, again, trusted, verbose)


def _verify(runs: Sequence[Path], same_as: Path | None, again: int | None, trusted: bool, verbose: bool) -> None:
    from erlbench.verification import AGREES, DIFFERS, UNKNOWN, load_files, verify_all
    from erlbench.verification.rerun import run_again
    from erlbench.verification.same import compare_runs

    if same_as is not None:
        if len(runs) > 1:
            raise UsageError("--same-as compares one run with another; give one RUN")
        checks = list(compare_runs(load_files(runs[0]), load_files(same_as)))
        print_table("", ("file", "result", "what"), [(c.name, c.outcome, c.text) for c in checks])
        _exit(any(check.outcome == DIFFERS for check in checks))
        return
    paths = list(dict.fromkeys(path for folder in runs for path in _runs(folder)))
    if again is not None:
        found = {path: [run_again(path, again, trusted)] for path in paths}
    else:
        found = verify_all(paths, trusted)
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
