"""One trial in a process of the campaign's own, which imports this module and not the command."""

from __future__ import annotations

import contextlib
import io
import os
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from erlbench.machine.process import limit_threads

limit_threads()

from tests.campaign.parts import PARTS  # noqa: E402
from tests.campaign.trials import new_trial  # noqa: E402

NOW = "now-"  # files that say which trial a process runs


@dataclass(frozen=True)
class Outcome:
    """What became of one trial; `failure` is a traceback."""

    part: str
    number: int
    begun: bool = True
    failure: str = ""
    counts: Counter[str] = field(default_factory=Counter)


def attempt(name: str, seed: int, number: int, shared: Path, end: float) -> Outcome:
    """One trial, in a process of the campaign's, unless it is too late."""
    if time.monotonic() > end:
        return Outcome(name, number, begun=False)
    counts: Counter[str] = Counter()
    now = shared / f"{NOW}{os.getpid()}"
    now.write_text(f"--only {name} --seed {seed} --trial {number}")  # for the case that this process is ended
    with new_trial(name, seed, number, counts, shared) as trial, contextlib.redirect_stderr(io.StringIO()):
        begun, failure = time.monotonic(), ""
        try:
            PARTS[name].trial(trial)
        except Exception:
            failure = traceback.format_exc()
    now.unlink()
    counts["seconds"] = round(time.monotonic() - begun)
    return Outcome(name, number, failure=failure, counts=counts)
