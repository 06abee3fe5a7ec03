"""`erlbench doctor`: what this machine has, and what to do."""

from __future__ import annotations

import click


@click.command()
def command() -> None:
    """Show what this machine has for runs: cores, memory, BLAS, GPU, rendering, extras; and what to do.

    The exit code is 1 when runs would fail.

    \b
    Example:
      erlbench doctor
    """
    from erlbench.cli.tables import print_table
    from erlbench.doctor import examine

    findings = list(examine())
    print_table("", ("what", "found"), [(one.what, one.found) for one in findings])
    todo = [one for one in findings if one.advice]
    if todo:
        click.echo()
        print_table("What you can do", ("for", "do"), [(one.what, one.advice) for one in todo])
    click.get_current_context().exit(int(any(one.serious for one in findings)))
