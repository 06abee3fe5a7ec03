"""The parts of the campaign; docs/reproducibility.md says which promise each attacks."""

from __future__ import annotations

import contextlib
import io
import time
import traceback
from collections import Counter
from pathlib import Path

from tests.campaign import kills, memory, power, words
from tests.campaign.trials import new_trial

PARTS = {  # name -> a trial, and how many the whole campaign has
    "commands": (words.trial, 2000),
    "power": (power.trial, 40),
    "memory": (memory.trial, 1),
    "kills": (kills.trial, 100),
}


def attempt(name: str, seed: int, number: int, shared: Path, end: float) -> tuple[str, Counter[str]]:
    """Make one trial in a process of the campaign's, unless it is too late; why it failed, and its counts."""
    counts: Counter[str] = Counter()
    if time.monotonic() < end:
        with new_trial(name, seed, number, counts, shared) as trial, contextlib.redirect_stderr(io.StringIO()):
            counts["trials"], begun = 1, time.monotonic()
            try:
                PARTS[name][0](trial)
            except Exception:
                return traceback.format_exc(), counts
            finally:
                counts["seconds"] = round(time.monotonic() - begun)
    return "", counts
