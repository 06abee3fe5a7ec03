"""`erlbench import`: runs of other programs as runs of a results folder."""

from __future__ import annotations

from pathlib import Path

import click

from erlbench.cli.tables import print_table
from erlbench.errors import warn


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(path_type=Path))
@click.option("--origin", required=True, metavar="WORDS", help="whose data they are; reports show it")
@click.option("--licence", default="", metavar="WORDS", help="their licence, where it is known")
@click.option("--env", default="", metavar="ENV", help="environment, where the files do not say it")
@click.option("--algo", default="", metavar="ALGO", help="algorithm, likewise")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), metavar="N", help="seed, likewise")
@click.option("--layout", default="", metavar="PATTERN",
              help="where the paths say them: '{algo}/{env}_{seed}'")  # fmt: skip
@click.option("--name", default="", metavar="NAME", help="the runs' name [default: PROGRAM-ALGO]")
@click.option("--total-timesteps", type=click.IntRange(1, 10**15), metavar="N",
              help="training steps for which the runs were started")  # fmt: skip
@click.option("--returns", type=click.Choice(["evaluations", "training"]),
              help="what the returns of a CSV are of [default: not recorded]")  # fmt: skip
@click.option("--out", metavar="DIR", default=Path("results"), type=click.Path(path_type=Path), show_default=True,
              help="results folder")  # fmt: skip
def command(
    paths: tuple[Path, ...], origin: str, licence: str, env: str, algo: str, seed: int | None, layout: str, name: str,
    total_timesteps: int | None, returns: str | None, out: Path,
) -> None:  # fmt: skip
    """Take in runs of other programs: the files PATH, or all below the folders PATH.

    Stable-Baselines3's evaluations.npz and monitor.csv; CleanRL's event files; a CSV with the columns env, algo, seed,
    step and return. What the files do not say stays unknown.

    \b
    Examples:
      erlbench import logs --origin "Jane Doe, 2024" \\
        --layout '{algo}/{env}_{seed}' --total-timesteps 1000000
      erlbench import runs --origin "CleanRL's authors" --licence MIT
      erlbench import scores.csv --origin "table 3" --returns evaluations
    """
    from erlbench.importing import Said, read_runs, write_runs
    from erlbench.records.imported import EVALUATIONS, TRAINING

    kind = {"evaluations": EVALUATIONS, "training": TRAINING}.get(returns or "", "")
    said = Said(
        origin=_line("origin", origin), licence=_line("licence", licence), env=env, algo=algo, name=name, seed=seed,
        total_timesteps=total_timesteps, returns=kind,
    )  # fmt: skip
    runs = read_runs(paths, said, layout)
    written = write_runs(runs, out)
    rows = [
        (path, run.about.format, run.about.returns, len(run.evaluations), f"{run.timesteps:,}")
        for path, run in zip(written, runs, strict=True)
    ]
    print_table("", ("run", "read from", "returns of", "rows", "steps"), rows)
    for note in dict.fromkeys(f"{run.paths[0]}: {note}" for run in runs for note in run.notes):
        warn(note)
    click.echo(f"{len(written)} runs in {out}; next: erlbench report {out}")


def _line(option: str, text: str) -> str:
    """A text of one short line."""
    if len(text) > 200 or not text.isprintable():
        raise click.BadParameter("one line of at most 200 characters", param_hint=f"--{option}")
    return text.strip()
