"""The command `erlbench`, also as `python -m erlbench`."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from erlbench.threads import choose_kernels, limit_threads


def main() -> None:
    """Run the command line and exit with its code."""
    limit_threads()
    choose_kernels()
    _find_modules_here()
    try:
        from erlbench.cli import cli

        cli(prog_name="erlbench")
    except KeyboardInterrupt:  # while modules are imported; later ones get a message
        sys.exit(130)


def _find_modules_here() -> None:
    """Let `--env mymodule:MyTask-v0` find a module in the current folder, behind all that is installed."""
    with suppress(FileNotFoundError):  # the folder may have been removed
        folder = os.getcwd()
        if not sys.flags.safe_path and folder not in sys.path and "" not in sys.path:
            sys.path.append(folder)


if __name__ == "__main__":
    main()
