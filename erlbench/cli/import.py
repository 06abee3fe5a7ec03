"""`erlbench import`: runs of other programs as runs of a results folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from erlbench.cli.tables import print_table


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(path_type=Path))
@click.option("--origin", required=True, metavar="WORDS", help="whose data they are; reports show it")
@click.option("--licence", default="", metavar="WORDS", help="their licence, where it is known")
@click.option("--env", default="", metavar="ENV", help="environment, where the files do not say it, or another")
@click.option("--env-set", multiple=True, metavar="KEY=VALUE",
              help="what they changed in the environment: max_episode_steps=200")  # fmt: skip
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
def command(paths: tuple[Path, ...], env_set: tuple[str, ...], returns: str | None, **options: Any) -> None:
    """Take in runs of other programs: the files PATH, or all below the folders PATH.

    Stable-Baselines3's evaluations.npz and monitor.csv; CleanRL's event files; a CSV with the columns env, algo, seed,
    step and return. What the files do not say stays unknown. Runs that are too alike are named: copies, blocks of one
    run in another, equal differences.

    \b
    Examples:
      erlbench import logs --origin "Jane Doe, 2024" \\
        --layout '{algo}/{env}_{seed}' --total-timesteps 1000000
      erlbench import runs --origin "CleanRL's authors" --licence MIT
      erlbench import scores.csv --origin "table 3" --returns evaluations
    """
    from erlbench.importing import import_runs
    from erlbench.options import _split_assignments

    runs = import_runs(paths, env_settings=_split_assignments(env_set, "--env-set"), returns=returns or "", **options)
    rows = [(*row[:-1], f"{row[-1]:,}") for row in runs.itertuples(index=False)]
    print_table("", ("run", "read from", "returns of", "rows", "steps"), rows)
    out = options["out"]
    click.echo(f"{len(runs)} runs in {out}; next: erlbench report {out}")
