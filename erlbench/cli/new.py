"""`erlbench new`: a package of your own that brings an algorithm."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from erlbench.cli.options import options_command
from erlbench.options import argument, option


@dataclass(frozen=True, kw_only=True)
class NewOptions:
    """What is written."""

    what: str = argument("algorithm", choices=("algorithm",))
    name: str = argument("NAME")
    out: Path | None = option(None, "folder of the package [default: NAME]", "DIR")
    ask_tell: bool = option(False, "the algorithm is an object with ask and tell, in 20 lines")


@options_command(NewOptions)
def command(options: NewOptions) -> None:
    """Write a package that brings the algorithm NAME, with a test of all that the suite expects of it.

    It works as it is; replace the search in it by yours. erlbench itself is not changed.

    \b
    Examples:
      erlbench new algorithm my-search
      erlbench new algorithm my-search --ask-tell
    """
    from erlbench.algorithms import registry
    from erlbench.scaffold import write_algorithm

    folder = options.out or Path(options.name)
    written = write_algorithm(options.name, folder, registry.names(), options.ask_tell)
    for path in written:
        click.echo(path)
    click.echo(f"\nNext: cd {folder}, write {written[-1].name}, then: pip install --no-deps -e . && pytest")
