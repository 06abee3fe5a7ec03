"""The command `erlbench`, also as `python -m erlbench`."""

from __future__ import annotations

from erlbench.threads import limit_threads


def main() -> None:
    """Run the command line and exit with its code."""
    limit_threads()
    from erlbench.cli import cli

    cli(prog_name="erlbench")


if __name__ == "__main__":
    main()
