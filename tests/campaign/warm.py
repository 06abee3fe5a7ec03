"""Runs that are forked from a process that has imported everything: a start costs a tenth, all else is the same.

Importing torch in every worker takes most of a short run's time. The driver is forked here, after the imports, and runs
the command's `main`. Its first fork server is forked from the driver before that begins; one that is started later, in
place of one that was killed, is a new process as always.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from tests.runs import heed_interrupts

IMPORTED = (
    "erlbench.cli.run", "erlbench.running.command", "erlbench.work.rollout", "erlbench.pool.worker", "mujoco", "torch",
    "erlbench.algorithms.gradients.updates", "erlbench.algorithms.gradients.episodes",
    "erlbench.algorithms.gradients.ppo_iteration", "erlbench.algorithms.gradients.trpo_iteration",
    "tests.campaign.warm",
)  # fmt: skip
CONTEXT = multiprocessing.get_context("forkserver")


class WarmRun:
    """What `subprocess.Popen` offers, as far as the trials use it, of `erlbench run` with `words`."""

    def __init__(self, words: Sequence[object], output: Path) -> None:
        self.args = ["erlbench", "run", "--device", "cpu", *map(str, words)]
        self._output = output
        CONTEXT.set_forkserver_preload(list(IMPORTED))
        self._process = CONTEXT.Process(target=_run, args=(self.args, str(output)))
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def kill(self) -> None:
        self._process.kill()

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Wait for the end; what it said."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        return self._output.read_text() if self._output.exists() else "", ""  # it may be killed before it begins


def _run(words: list[str], output: str) -> None:
    from erlbench.__main__ import main
    from erlbench.pool.worker import start_fork_server

    descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)
    sys.argv = words
    tempfile.tempdir = os.environ["TMPDIR"] = os.path.dirname(output)
    heed_interrupts()
    _fork_the_next_server()
    start_fork_server()
    main()


def _fork_the_next_server() -> None:
    """Have the multiprocess library fork its next fork server from this process, which has no other threads yet."""
    from multiprocess import forkserver, util

    execute = util.spawnv_passfds

    def start(path: str, words: list[str], passed: list[int]) -> int:
        if "forkserver" not in words[-1]:
            return execute(path, words, passed)
        util.spawnv_passfds = execute
        pid = os.fork()
        if not pid:
            _serve(words[-1], passed, forkserver)
        return pid

    util.spawnv_passfds = start


def _serve(command: str, passed: list[int], forkserver: Any) -> NoReturn:
    """Be the fork server, with no files open but those that a new process would have."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) not in passed:
            with suppress(OSError):  # the listing's own is gone
                os.close(int(name))
    forkserver._forkserver._lock = threading.Lock()  # the driver holds it now
    code = 1
    try:
        exec(command, {})
    except SystemExit:
        code = 0
    finally:
        os._exit(code)
