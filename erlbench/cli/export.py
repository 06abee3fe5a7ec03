"""`erlbench export`: results in the formats of other tools."""

from __future__ import annotations

from pathlib import Path

import click

from erlbench.exporting import TARGETS


@click.command()
@click.argument("results", nargs=-1, required=True, metavar="DIR...", type=click.Path(path_type=Path))
@click.option("--to", "target", required=True, type=click.Choice(list(TARGETS)), help="the program that reads it")
@click.option("--out", metavar="DIR", type=click.Path(path_type=Path), help="folder to write [default: export/TARGET]")
def command(results: tuple[Path, ...], target: str, out: Path | None) -> None:
    """Write the results in the folders DIR for another tool.

    tensorboard and wandb: curves over training steps; wandb: offline runs, which `wandb sync` sends.
    rliable: final scores; sb3: evaluations.npz; monitor: monitor.csv; parquet: all frames.

    \b
    Examples:
      erlbench export results --to tensorboard
      erlbench export results --to parquet --out frames
    """
    from erlbench.api import load_results
    from erlbench.exporting import export

    out = out or Path("export") / target
    written = export(load_results(*results), target, out)
    click.echo(f"{len(written)} {'file' if written[0].is_file() else 'folder'}{'s' if len(written) != 1 else ''} "
               f"in {out}: {TARGETS[target]}")  # fmt: skip
