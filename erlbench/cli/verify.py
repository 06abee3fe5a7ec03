"""`erlbench verify`: recomputes what can be recomputed of finished runs, and compares two runs bit by bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from erlbench.cli.options import options_command
from erlbench.cli.tables import print_table
from erlbench.errors import UsageError
from erlbench.options import argument, option
from erlbench.records.run import run_folders, without_runs

if TYPE_CHECKING:
    from erlbench.verification import Check


@dataclass(frozen=True, kw_only=True)
class VerifyOptions:
    """What is checked, and against what."""

    runs: tuple[Path, ...] = argument("RUN...")
    same_as: Path | None = option(None, "compare with this run instead, bit by bit", "RUN")
    again: int | None = option(
        None, "run the run again up to its evaluation N, and compare the digests of its states", minimum=0
    )
    import_: bool = option(False, "import the modules of environments MODULE:ID")
    verbose: bool = option(False, "all checks of all runs, with the reasons", short="-v")

    def __post_init__(self) -> None:
        if self.same_as is not None and len(self.runs) > 1:
            raise UsageError("--same-as compares one run with another; give one RUN")


@options_command(VerifyOptions)
def command(options: VerifyOptions) -> None:
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
    from erlbench.bundle import open_bundles

    same_as = [options.same_as] if options.same_as else []
    with open_bundles([*options.runs, *same_as]) as folders:
        if same_as:
            _compare(*folders)
        else:
            _verify(folders, options)


def _compare(run: Path, other: Path) -> None:
    from erlbench.verification import DIFFERS, load_files
    from erlbench.verification.same import compare_runs

    checks = list(compare_runs(load_files(run), load_files(other)))
    print_table("", ("file", "result", "what"), [(c.name, c.outcome, c.text) for c in checks])
    _exit(any(check.outcome == DIFFERS for check in checks))


def _verify(folders: Sequence[Path], options: VerifyOptions) -> None:
    from erlbench.verification import AGREES, DIFFERS, UNKNOWN, verify_all
    from erlbench.verification.rerun import run_again

    paths = list(dict.fromkeys(path for folder in folders for path in _runs(folder)))
    if options.again is not None:
        found = {path: [run_again(path, options.again, options.import_)] for path in paths}
    else:
        found = verify_all(paths, options.import_)
    differing = [path for path, checks in found.items() if any(check.outcome == DIFFERS for check in checks)]
    if len(found) > 1:
        rows = [
            (path, *(_names(checks, outcome) for outcome in (AGREES, DIFFERS, UNKNOWN)))
            for path, checks in found.items()
        ]
        print_table("", ("run", "agree", "differ", "cannot be verified"), rows)
    for path in [*found] if options.verbose or len(found) == 1 else differing:
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
