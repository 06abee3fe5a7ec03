"""`erlbench cite`: BibTeX of what a set of runs used."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("results", nargs=-1, metavar="[DIR]...", type=click.Path(path_type=Path))
def command(results: tuple[Path, ...]) -> None:
    """Print BibTeX of the algorithms, environments and data that the runs below DIR [default: results] used.

    \b
    Examples:
      erlbench cite
      erlbench cite results/reference > references.bib
      erlbench cite study.zip
    """
    from erlbench.bundle import open_bundles
    from erlbench.reporting.citations import cite_runs

    with open_bundles(results or (Path("results"),)) as folders:
        click.echo("\n\n".join(cite_runs(folders)))
