"""Commits by name, the files of one in a folder, and commands that run with its package."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import click

STORED = "results"  # the repository's runs
PROBE = "import erlbench, erlbench.algorithms as a; print(erlbench.__file__, *a.__path__)"
POLL = 0.02  # seconds
PR_SET_CHILD_SUBREAPER = 36  # of <linux/prctl.h>


class CaseError(Exception):
    """Why a case could not be made; the others go on."""


class Ended(NamedTuple):
    """A command that has ended."""

    code: int
    out: str
    err: str


def resolve(name: str, root: Path) -> str:
    """The full hash of a tag, branch or hash; raises `click.UsageError` if git does not know it."""
    command = ["git", "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"]
    commit = subprocess.run(command, cwd=root, capture_output=True, text=True).stdout.strip()
    if not commit:
        raise click.UsageError(f"git knows no commit '{name}' here; git fetch --tags, or --unshallow, may get it")
    return commit


def extract(commit: str, folder: Path, root: Path, with_stored: bool = True) -> None:
    """Write a commit's files into a new folder; nothing is registered in the repository."""
    folder.mkdir()
    archive = folder.with_suffix(".tar")
    paths = ["."] if with_stored else [".", f":(exclude){STORED}"]
    for command in (
        ["git", "archive", f"--output={archive}", commit, "--", *paths],
        ["tar", "-x", "-f", str(archive), "-C", str(folder)],
    ):
        ended = subprocess.run(command, cwd=root, capture_output=True, text=True)
        if ended.returncode:
            raise click.ClickException(f"{command[0]} cannot write the files of {commit}: {ended.stderr.strip()}")
    archive.unlink()


def measure_cpu(function: Callable[[], object]) -> float:
    """Seconds of processor time of all processes that a function starts, until the last of them has ended.

    Those that their parents do not wait for become children of this process, which must have no other.
    """
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    begin = resource.getrusage(resource.RUSAGE_CHILDREN)
    function()
    try:
        while True:
            os.wait()
    except ChildProcessError:
        end = resource.getrusage(resource.RUSAGE_CHILDREN)
    return end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime


@dataclass
class Tree:
    """The files of one commit, where its cases write, and the command that runs."""

    label: str
    path: Path
    work: Path
    timeout: float = 900.0  # seconds of a command
    stopped: bool = False  # set by another thread: end the command that runs, and begin no other

    def check(self) -> None:
        """Raises `click.ClickException` if Python imports another erlbench than this one."""
        ended = self.run([sys.executable, "-c", PROBE], self.work)
        if ended.code or not all(Path(path).is_relative_to(self.path) for path in ended.out.split()):
            raise click.ClickException(f"{self.label}: Python imports another erlbench: {ended.out or ended.err}")

    def erlbench(self, arguments: Sequence[str], folder: Path, until: Callable[[], bool] | None = None) -> Ended:
        """Run its command line in `folder`; `until`: see `run`."""
        return self.run([sys.executable, "-m", "erlbench", *arguments], folder, until)

    def run(self, command: Sequence[str], folder: Path, until: Callable[[], bool] | None = None) -> Ended:
        """Run a command as a process group, with `kill -9` of the group as soon as `until` holds.

        Raises `CaseError` if the command is not done in time, or ends before `until` holds.
        """
        variables = {
            "PYTHONPATH": f"{self.path}{os.pathsep}{folder}",
            "COLUMNS": "200",
            "XDG_CACHE_HOME": str(self.work / "cache"),
        }
        outputs = [folder / "stdout.txt", folder / "stderr.txt"]
        with open(outputs[0], "w") as out, open(outputs[1], "w") as err:
            process = subprocess.Popen(
                command, cwd=folder, env={**os.environ, **variables}, stdout=out, stderr=err, start_new_session=True
            )
            try:
                code = self._wait(process, until)
            finally:
                if process.returncode is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
        texts = [path.read_text(errors="replace") for path in outputs]
        return Ended(code, *texts)

    def _wait(self, process: subprocess.Popen[bytes], until: Callable[[], bool] | None) -> int:
        end = time.monotonic() + self.timeout
        while process.poll() is None:
            if self.stopped or time.monotonic() > end:
                raise CaseError("stopped" if self.stopped else f"not done after {self.timeout:g} s")
            if until and until():
                return -signal.SIGKILL
            time.sleep(POLL)
        if until:
            raise CaseError("the run ended before it could be killed")
        return process.returncode
