"""Demands on this process, and its share of the machine: streams, open files, libraries, cores, memory.

It imports nothing heavy, so that it can run before numpy is imported.
"""

from __future__ import annotations

import ctypes
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from math import inf
from pathlib import Path
from typing import IO, Any

from erlbench.errors import UsageError

A_WORKER = 3  # open files of the driver for one worker process: its connection, its end, what it is sent at the start
SPARE = 128  # for CSV files, locks, arrays and libraries
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
    """Have what is written to a descriptor vanish, and reading from it end at once, here and in later processes."""
    opened = os.open(os.devnull, os.O_RDWR)
    if opened == descriptor:
        os.set_inheritable(descriptor, True)
    else:
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

    Raises `UsageError` when the shell does not allow one worker for each.
    """
    import resource  # not at the top: results are also read on Windows, which has none

    needed, (soft, hard) = SPARE + A_WORKER * processes, resource.getrlimit(resource.RLIMIT_NOFILE)
    largest = inf if hard == resource.RLIM_INFINITY else hard
    if needed > largest:
        raise UsageError(
            f"too many open files: {processes} processes need about {needed}, and this shell allows {hard}; "
            f"raise the limit (ulimit -Hn {needed}, or LimitNOFILE of the service), or lower --processes or --jobs"
        )
    wanted = int(min(needed + A_WORKER * processes, largest))
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


# -- processes that end with the one that started them, whatever both are doing; a promise of Linux alone --------------


PR_SET_PDEATHSIG = 1  # of <linux/prctl.h>


def end_with_parent(parent: int = 0) -> None:
    """Have the kernel kill this process when the thread that started it ends; end now where `parent` is gone."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if parent and os.getppid() != parent:
        os._exit(1)


# -- signals -----------------------------------------------------------------------------------------------------------


class Interruption(threading.local):
    """Of each thread: whether a signal may end what it does by KeyboardInterrupt, and whether one has."""

    allowed = came = False

    @contextmanager
    def allow(self) -> Iterator[None]:
        """Inside, it may, as what is done there is done again later."""
        before, self.allowed, self.came = self.allowed, True, False
        try:
            yield
        finally:
            self.allowed = before

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Inside, it may not, as another process waits for the rest of what is done there."""
        before, self.allowed = self.allowed, False
        try:
            yield
        finally:
            self.allowed = before


INTERRUPTION = Interruption()


def signal_name(number: int) -> str:
    """Such as SIGSEGV; those that are for programs have none."""
    return signal.Signals(number).name if number in [*signal.Signals] else "a real-time signal"


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
    display = os.environ.get("PYGLFW_LIBRARY_VARIANT") or os.environ.get("XDG_SESSION_TYPE")
    for place in (spec and spec.submodule_search_locations) or ():
        library = Path(place, "wayland" if display == "wayland" else "x11", "libglfw.so")
        if library.is_file():
            os.environ.setdefault("PYGLFW_LIBRARY", str(library))


# -- modules in the folder where a command was given -------------------------------------------------------------------


def allow_module(module: str) -> None:
    """Let a module be found in the current folder, behind all that is installed, as the command names it.

    Libraries look for modules that may not be installed, such as `cuda` or `org`; a file of that name in a folder of
    results is not run by a command that names no module of the folder. Processes that are started later also find it.
    """
    top = module.partition(".")[0]
    try:
        here = Path.cwd()
    except FileNotFoundError:  # the folder was removed
        return
    is_here = top != "" and ((here / top).is_dir() or (here / f"{top}.py").is_file())
    if is_here and not {str(here), ""} & set(sys.path):
        sys.path.append(str(here))


# -- cores, memory and GPUs --------------------------------------------------------------------------------------------


def limit_threads() -> None:
    """One BLAS and OpenMP thread for this process and its children; to be called before numpy is imported."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"


def cores() -> int:
    """The cores that this process may use: whole ones of a container's CPU quota, at least 1.

    In a Slurm job the cores of its task, where Slurm does not bind it to them.
    """
    count = max(1, int(min(len(os.sched_getaffinity(0)), cpu_quota())))
    task = os.environ.get("SLURM_CPUS_PER_TASK", "")
    return min(count, int(task)) if task.isdigit() and int(task) else count


def available_memory() -> float:
    """Bytes that can be had without swapping, by the machine and by a container's limit."""
    available = re.search(r"^MemAvailable: *(\d+) kB$", read_system_file("/proc/meminfo"), re.MULTILINE)
    return min(1024.0 * int(available[1]) if available else inf, memory_left())


def check_device(device: str) -> None:
    """Refuse a GPU that is not there, before anything runs; only then is torch imported here."""
    if not device.startswith("cuda"):
        return
    import torch

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if int(device.partition(":")[2] or 0) >= count:
        has = f"PyTorch finds {count} here" if count else "PyTorch finds none here"
        raise UsageError(
            f"--device {device}: there is no such GPU, {has}; see `erlbench list machine`, or take --device cpu"
        )


# -- what a container or a job may use: memory and CPU quota of the control groups (cgroup v2) that it is in -----------


# A limit of any group above it also binds, so the smallest counts. Linux's documentation: admin-guide/cgroup-v2.
# What cannot be read is no limit.
ROOT = Path("/")


def memory_left(root: Path = ROOT) -> float:
    """Bytes that the groups still give without taking from files' caches; infinity without a limit."""
    left = inf
    for group in _groups(root):
        most = _number(read_system_file(group / "memory.max"))
        lines = read_system_file(group / "memory.stat").splitlines()
        cache = dict(line.split(maxsplit=1) for line in lines if " " in line)
        taken = _number(read_system_file(group / "memory.current"), 0.0) - _number(cache.get("inactive_file", ""), 0.0)
        left = min(left, max(0.0, most - max(0.0, taken)))
    return left


def cpu_quota(root: Path = ROOT) -> float:
    """Cores whose time the groups give; infinity without a quota."""
    quota = inf
    for group in _groups(root):
        words = read_system_file(group / "cpu.max").split()  # "max 100000", or microseconds and the period
        if len(words) == 2 and (period := _number(words[1], 0.0)):
            quota = min(quota, _number(words[0]) / period)
    return quota


def _groups(root: Path) -> Iterator[Path]:
    """The folders of this process's group and of all groups above it; a container may see only its group."""
    top = root / "sys/fs/cgroup"
    paths = [line[3:] for line in read_system_file(root / "proc/self/cgroup").splitlines() if line.startswith("0::/")]
    for path in paths:
        folder = top if ".." in path else top / path.lstrip("/")
        yield from (folder, *folder.parents[: len(folder.parts) - len(top.parts)])


def read_system_file(file: Path | str) -> str:
    """A small text file, as of /proc; empty where it cannot be read."""
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return ""


def _number(text: str, default: float = inf) -> float:
    """A number; `default` for `max` and what is none."""
    return float(text) if text.isdigit() else default
