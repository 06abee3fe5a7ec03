"""`erlbench convert`: runs of other programs, results for other programs, and bundles."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, fields
from pathlib import Path

import click

from erlbench.api import load_results
from erlbench.bundle import SUFFIX, is_bundle, open_bundles, write_bundle
from erlbench.cli.options import options_command
from erlbench.cli.tables import print_table
from erlbench.conversion import UserFacts, export_events, import_runs
from erlbench.errors import UsageError
from erlbench.options import argument, option
from erlbench.records.run import run_folders
from erlbench.words import counted

BUNDLE = "bundle"
SOURCES = ("sb3", "cleanrl", "csv")
TARGETS = ("tensorboard", BUNDLE)


@dataclass(frozen=True)
class Direction:
    """What is converted, and to what."""

    paths: tuple[Path, ...] = argument("PATH...")
    from_: str = option("", "the program that wrote PATH", choices=SOURCES)
    to: str = option("", "the program that reads the results in PATH", choices=TARGETS)
    out: Path | None = option(
        None, "folder or bundle to write [default: results; with --to, export/FORMAT]", "DIR|FILE.zip"
    )


@dataclass(frozen=True)
class ConvertOptions(UserFacts, Direction):
    """The same, and what is known of runs of other programs."""


@options_command(ConvertOptions)
def command(options: ConvertOptions) -> None:
    """Import runs of other programs, or export results.

    \b
    --from sb3        evaluations.npz and monitor.csv of Stable-Baselines3
    --from cleanrl    event files of CleanRL
    --from csv        tables with the columns env, algo, seed, step, return
    --to tensorboard  curves
    --to bundle       one file of runs; other commands read it like a folder

    Values that another program's files lack stay empty. A bundle has no command line, home folder, user or host.

    \b
    Examples:
      erlbench convert --from sb3 logs --origin "Jane Doe, 2024" \\
        --layout '{algo}/{env}_{seed}' --total-timesteps 1000000
      erlbench convert --from csv scores.csv --origin "table 3"
      erlbench convert --to tensorboard results --out curves
      erlbench convert --to bundle results --out study.zip
    """
    target = choose_target(options)
    facts = {
        item.name: value for item in fields(UserFacts) if (value := getattr(options, item.name)) not in (None, "", {})
    }
    if facts and target:
        raise UsageError(f"--{next(iter(facts)).replace('_', '-')} is for --from {'|'.join(SOURCES)} alone")
    if target == BUNDLE:
        if options.out is None:
            raise UsageError("--to bundle needs a file: --out FILE.zip")
        with open_bundles(options.paths) as folders:
            count = write_bundle(folders, options.out)
        click.echo(f"{counted(count, 'run')} in {options.out}, without command lines, home folders, user and host")
    elif target:
        out = options.out or Path("export") / target
        written = export_events(load_results(*options.paths), out)
        click.echo(f"{counted(len(written), 'folder')} in {out}; next: tensorboard --logdir {shlex.quote(str(out))}")
    else:
        out = options.out or Path("results")
        if not options.origin.strip():
            raise UsageError("give --origin WORDS, who made the runs; reports show it")
        runs = import_runs(options.paths, out, source=options.from_, **facts)
        rows = [(*row[:-1], f"{row[-1]:,}") for row in runs.itertuples(index=False)]
        print_table("", ("run", "read from", "returns of", "rows", "steps"), rows)
        click.echo(f"{counted(len(runs), 'run')} in {out}; next: erlbench report {shlex.quote(str(out))}")


def choose_target(options: Direction) -> str:
    """The format to write; empty where runs are taken in, of any format without `from`.

    Raises `UsageError` where the options exclude one another, or neither they nor PATH decide it.
    """
    target = options.to or (BUNDLE if options.out and options.out.suffix == SUFFIX else "")
    if options.from_ and target:
        raise UsageError("give --from or --to, not both; convert in two steps, with a folder of results between them")
    holds_runs = (path for path in options.paths if is_bundle(path) or (path.is_dir() and run_folders(path)))
    if not (target or options.from_) and (path := next(holds_runs, None)):
        raise UsageError(f"{path} holds runs of this suite; say what to write: --to {'|'.join(TARGETS)}")
    return target
