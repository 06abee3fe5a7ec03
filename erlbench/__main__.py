"""The command `erlbench`, also as `python -m erlbench`."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress

from erlbench.threads import limit_threads


def main() -> None:
    """Run the command line and exit with its code."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _leave)
    limit_threads()
    _find_modules_here()
    from erlbench.cli import cli

    cli(prog_name="erlbench")


def _leave(number: int, frame: object) -> None:
    """End at once, as long as nothing runs that could be saved (see `erlbench.running.signals`).

    An exception would come up in the middle of an import, where libraries turn it into other errors.
    """
    with suppress(OSError):
        os.write(2, b"erlbench: interrupted\n")
    os._exit(130)


def _find_modules_here() -> None:
    """Let `--env mymodule:MyTask-v0` find a module in the current folder, behind all that is installed."""
    with suppress(FileNotFoundError):  # the folder may have been removed
        folder = os.getcwd()
        if not sys.flags.safe_path and folder not in sys.path and "" not in sys.path:
            sys.path.append(folder)


if __name__ == "__main__":
    main()
