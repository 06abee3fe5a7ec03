"""What a trial is: a function of the campaign's seed and its number, so that each can be run again alone."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import tomli_w

from erlbench.algorithms import registry
from tests.calls import call
from tests.processes import time_limit
from tests.runs import heed_interrupts

UNEXPECTED = ("Traceback (most", "erlbench: unexpected ")  # words that no message for a user has


class Failed(Exception):
    """A promise that did not hold."""


@dataclass
class Trial:
    """One trial: its random numbers, its folder, and what it counts for the campaign's table."""

    part: str
    seed: int
    number: int
    folder: Path
    counts: Counter[str]
    shared: Path  # what trials of one process make once for all of them

    @property
    def random(self) -> random.Random:
        """A stream that depends on nothing but seed, part and number; the same at each call."""
        return random.Random(f"{self.seed} {self.part} {self.number}")


def check(condition: object, message: str) -> None:
    """Raise `Failed` unless the condition holds."""
    if not condition:
        raise Failed(message)


@contextmanager
def new_trial(part: str, seed: int, number: int, counts: Counter[str], shared: Path) -> Iterator[Trial]:
    """A trial with an empty folder, which is removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix=f"campaign-{part}-"))
    try:
        yield Trial(part, seed, number, folder, counts, shared)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def once(folder: Path, make: Callable[[Path], None]) -> Path:
    """A folder that `make` fills at the first call of this process."""
    folder = folder.with_name(f"{folder.name}-{os.getpid()}")
    if not folder.exists():
        folder.mkdir()
        make(folder)
    return folder


def write_config(cell, path: Path, **options: float) -> Path:
    """A cell as a file for `--config`, with further options."""
    own = registry.find(cell.algo).usual_workers(cell.settings) or 0  # as in config.toml
    path.write_text(tomli_w.dumps(options | replace(cell, workers=min(cell.workers, own)).config()))
    return path


def start(*words: object, temporary: Path | None = None) -> subprocess.Popen[str]:
    """`erlbench run` with `words` in a process of its own."""
    command = [sys.executable, "-m", "erlbench", "run", "--device", "cpu", *map(str, words)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    environment = os.environ | ({"TMPDIR": str(temporary)} if temporary else {})
    return subprocess.Popen(command, text=True, preexec_fn=heed_interrupts, env=environment, **pipes)


def finish(process: subprocess.Popen[str], seconds: float = 300.0) -> str:
    """Wait for the end of a process; what it said. It is killed when it takes too long."""
    try:
        output, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        output, errors = process.communicate()
        raise Failed(f"no end after {seconds:.0f} s: {errors[-500:]}") from None
    return output + errors


def invoke(*words: object, seconds: int = 60) -> tuple[int, str]:
    """A command in this process, which may take so many seconds: its exit code and what it said."""
    with time_limit(seconds):
        result = call(*words)
    check(not isinstance(result.exception, TimeoutError), f"{result.exception}: erlbench {' '.join(map(str, words))}")
    return result.exit_code, result.output


def check_message(code: int, output: str, what: str) -> None:
    """Exit codes are those of the manual, and errors are told in one message without a traceback."""
    check(code in (0, 1, 2), f"{what}: exit code {code}: {output[-800:]}")
    found = [word for word in UNEXPECTED if word in output]
    check(not found, f"{what}: {found[0] if found else ''} in {output[-800:]}")
