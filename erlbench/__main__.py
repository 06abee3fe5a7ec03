"""The command `erlbench`, also as `python -m erlbench`."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from io import TextIOWrapper
from typing import NoReturn

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


def main() -> None:
    """Run the command line and exit with its code."""
    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _leave)
    _speak_utf8()
    from erlbench.errors import explain  # not at the top: signals are caught before what takes time
    from erlbench.machine.process import open_standard_streams, prepare_libraries

    open_standard_streams()
    prepare_libraries()
    from erlbench.cli import cli

    try:
        cli(prog_name="erlbench")
    except SystemExit as end:
        _end(end.code)
    except OSError as error:  # --version and --help print before there is a command
        with suppress(OSError):
            os.write(2, f"erlbench: {explain(error, 'standard output')}\n".encode())
        _end(1)


def _speak_utf8() -> None:
    """Begin again in Python's UTF-8 mode where paths have another encoding, such as ASCII under LC_ALL=C.

    Then words of the command, names of files, and all that is printed are texts that UTF-8 can hold.
    """
    if sys.getfilesystemencoding() != "utf-8" and sys.executable and "utf8" not in sys._xoptions:
        os.environ["PYTHONUTF8"] = "1"  # of the processes that this one starts
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # None where it was closed at the start
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _leave(number: int, frame: object) -> None:
    """End at once, as long as nothing runs that could be saved (see `erlbench.running.command`).

    An exception would come up in the middle of an import, where libraries turn it into other errors.
    """
    with suppress(OSError):
        os.write(2, b"erlbench: interrupted\n")
    for name in ("multiprocess", "multiprocessing"):
        for child in getattr(sys.modules.get(name), "active_children", list)():  # the module may be half imported
            child.kill()  # it may be in C code, where it hears nothing
    os._exit(130)


def _end(code: str | int | None) -> NoReturn:
    """Exit; a signal that comes from here on changes nothing, as all is saved."""
    from erlbench.machine.process import give_up_on_full_streams

    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    give_up_on_full_streams()
    sys.exit(code)


if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the current folder, which `python -m` puts first
    main()
