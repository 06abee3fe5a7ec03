"""`erlbench new`: a package of your own that brings an algorithm."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("what", type=click.Choice(["algorithm"]))
@click.argument("name")
@click.option("--out", metavar="DIR", type=click.Path(path_type=Path), help="folder of the package [default: NAME]")
@click.option("--ask-tell", is_flag=True, help="the algorithm is an object with ask and tell, in 20 lines")
def command(what: str, name: str, out: Path | None, ask_tell: bool) -> None:
    """Write a package that brings the algorithm NAME, with a test of all that the suite expects of it.

    It works as it is; replace the search in it by yours. erlbench itself is not changed.

    \b
    Examples:
      erlbench new algorithm my-search
      erlbench new algorithm my-search --ask-tell
    """
    from erlbench.algorithms import registry
    from erlbench.scaffold import write_algorithm

    folder = out or Path(name)
    written = write_algorithm(name, folder, registry.names(), ask_tell)
    for path in written:
        click.echo(path)
    click.echo(f"\nNext: cd {folder}, write {written[-1].name}, then: pip install --no-deps -e . && pytest")
