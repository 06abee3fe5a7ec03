"""What the suite asks of its own process: streams, open files, an end with its parent, libraries, modules found."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from erlbench.errors import UsageError
from erlbench.machine.resources import limit_threads

A_WORKER = 3  # open files of the driver for one worker process: its connection, its end, what it is sent at the start
SPARE = 64  # for CSV files, locks, arrays and libraries
# Modules that workers and processes that try environments load first, so that both load the same (`work.identity`).
PRELOAD = ("numpy", "mujoco", "gymnasium", "erlbench.envs.mujoco_fast", "erlbench.pool.worker", "erlbench.work.rollout")


def open_standard_streams() -> None:
    """Have what was closed at the start lead nowhere: else the next file that is opened would get what is printed."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            lead_nowhere(number)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8", closefd=False))


def give_up_on_full_streams() -> None:
    """Print what is left, or nothing where that fails: Python would print a traceback for it at its end."""
    for stream, number in ((sys.stdout, 1), (sys.stderr, 2)):
        try:
            stream.flush()
        except (OSError, ValueError):
            lead_nowhere(number)


def lead_nowhere(descriptor: int) -> None:
    """Have what is written to a descriptor vanish, and reading from it end at once."""
    opened = os.open(os.devnull, os.O_RDWR)
    if opened != descriptor:
        os.dup2(opened, descriptor)
        os.close(opened)


class Unbroken:
    """A stream whose reader may go away: from then on it writes to nowhere, and raises nothing."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write, or give up for good."""
        try:
            return self._stream.write(text)
        except OSError:
            lead_nowhere(self._stream.fileno())  # what is still buffered is flushed at the process's end
            return len(text)

    def flush(self) -> None:
        """Flush, or give up for good."""
        try:
            self._stream.flush()
        except OSError:
            lead_nowhere(self._stream.fileno())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def allow_workers(processes: int) -> None:
    """Raise this process's limit of open files to what so many processes of a pool need, with two workers each.

    Raises `UsageError` when the machine does not allow even one worker for each.
    """
    import resource  # not at the top: Windows has none

    opened = _open_files() + SPARE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    least, most = (opened + A_WORKER * workers for workers in (processes, 2 * processes))
    if soft == resource.RLIM_INFINITY or most <= soft:
        return
    if hard != resource.RLIM_INFINITY and least > hard:
        raise UsageError(
            f"too many open files: {processes} processes need about {least}, and this shell allows {hard}; "
            f"raise the limit (ulimit -Hn {least}, or LimitNOFILE of the service), or lower --processes or --jobs"
        )
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _open_files() -> int:
    with suppress(OSError):
        return len(list(Path("/proc/self/fd").iterdir()))
    return 0


# -- processes that end with the one that started them, whatever both are doing; a promise of Linux alone --------------


PR_SET_PDEATHSIG = 1  # of <linux/prctl.h>


def end_with_parent() -> None:
    """Have the kernel kill this process when the thread that started it ends. It may have ended before this call."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


# -- settings of libraries, made before they are imported --------------------------------------------------------------


def prepare_libraries() -> None:
    """One BLAS thread, and no search for GLFW; for this process and its children, before numpy and Gymnasium come."""
    limit_threads()
    _name_glfw()


def _name_glfw() -> None:
    """Name the library that glfw brings along, unless somebody named another one.

    Without a name glfw starts a Python that asks the library for its version. When that process is killed, or gets the
    signal that was meant for the command, no environment of MuJoCo can be made.
    """
    spec = find_spec("glfw")
    variant = "wayland" if "wayland" in (os.environ.get("PYGLFW_LIBRARY_VARIANT"), _session()) else "x11"
    for place in (spec and spec.submodule_search_locations) or ():
        library = Path(place, variant, "libglfw.so")
        if library.is_file():
            os.environ.setdefault("PYGLFW_LIBRARY", str(library))


def _session() -> str | None:
    return None if os.environ.get("PYGLFW_LIBRARY_VARIANT") == "x11" else os.environ.get("XDG_SESSION_TYPE")


# -- modules in the folder where a command was given -------------------------------------------------------------------


def name_module(module: str) -> None:
    """Let a module be found in the current folder, behind all that is installed, as the command names it.

    Libraries look for modules that may not be installed, such as `cuda` or `org`; a file of that name beside results
    is not run by a command that names no module of the folder. Processes that are started later find it, too.
    """
    top = module.partition(".")[0]
    try:
        here = Path.cwd()
    except FileNotFoundError:  # the folder was removed
        return
    is_here = top != "" and ((here / top).is_dir() or (here / f"{top}.py").is_file())
    if is_here and not {str(here), ""} & set(sys.path):
        sys.path.append(str(here))
