"""`erlbench verify`: recomputes what can be recomputed of finished runs, and compares two runs bit by bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from erlbench.bundle import open_bundles
from erlbench.cli.options import options_command
from erlbench.cli.tables import print_table
from erlbench.errors import UsageError
from erlbench.options import argument, option
from erlbench.records.run import require_runs
from erlbench.verification import verify_all
from erlbench.verification.comparison import compare_runs, run_again
from erlbench.verification.files import AGREES, DIFFERS, UNKNOWN, Check, load_files


@dataclass(frozen=True)
class VerifyOptions:
    """What is checked, and against what."""

    runs: tuple[Path, ...] = argument("RUN...")
    same_as: Path | None = option(None, "compare with this run instead, bit by bit", "RUN")
    again: int | None = option(
        None, "run the run again up to its evaluation N, and compare the digests of its states", minimum=0
    )
    import_: bool = option(False, "import the modules of environments and networks MODULE:NAME")
    verbose: bool = option(False, "all checks of all runs, with the reasons", short="-v")

    def __post_init__(self) -> None:
        if self.same_as is not None and len(self.runs) > 1:
            raise UsageError("--same-as compares one run with another; give one RUN")


@options_command(VerifyOptions)
def command(options: VerifyOptions) -> None:
    """Check the runs in the folders RUN, or all runs below them.

    Files must have their checksums and all that their version writes, rows must agree with other files, and
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
    paths = [*options.runs, *filter(None, [options.same_as])]
    with open_bundles(paths) as folders:
        below = dict.fromkeys(run for folder in folders for run in require_runs(folder))
        if options.same_as:
            checks = {folders[0]: [*compare_runs(*map(load_files, folders))]}
        elif options.again is not None:
            checks = {run: [run_again(run, options.again, options.import_)] for run in below}
        else:
            checks = verify_all(below, options.import_)
        if len(checks) == 1:
            _print_checks("", *checks.values())
        else:
            rows = []
            for path, of_run in checks.items():
                agree, differ, unknown = (
                    [check.name for check in of_run if check.outcome == kind] for kind in (AGREES, DIFFERS, UNKNOWN)
                )
                rows.append((path, len(agree), ", ".join(differ) or "-", ", ".join(unknown) or "-"))
            print_table("", ("run", "agree", "differ", "cannot be verified"), rows)
            for path, _, names, _ in rows:
                if options.verbose or names != "-":
                    _print_checks(str(path), checks[path])
            differing, partly = (sum(row[column] != "-" for row in rows) for column in (2, 3))
            click.echo(f"{len(rows)} runs, {differing} with differences, {partly} not verified in full (-v: why)")
    differs = any(check.outcome == DIFFERS for of_run in checks.values() for check in of_run)
    click.get_current_context().exit(int(differs))


def _print_checks(title: str, checks: Sequence[Check]) -> None:
    print_table(title, ("check", "result", "what"), [(check.name, check.outcome, check.text) for check in checks])
