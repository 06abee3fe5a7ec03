"""The parts of the campaign, with the promise that each attacks."""

from __future__ import annotations

import contextlib
import io
import time
import traceback
from collections import Counter
from pathlib import Path

from tests.campaign import damage, kills, limits, memory, power, words
from tests.campaign.trials import Part, new_trial

PARTS = {
    part.name: part
    for part in (
        Part("commands", "a wrong command gets one message", words.trial, 2000),
        Part("limits", "a limit of the shell is named, and the run goes on without it", limits.trial, 20),
        Part("power", "a loss of power costs what came after the last checkpoint", power.trial, 40),
        Part("memory", "memory and open files stay as they are", memory.trial, 1),
        Part("folders", "damage to a run's folder is named and no row is computed over", damage.trial, 1000),
        Part("kills", "no kill of any process changes a row", kills.trial, 100),
    )
}


def attempt(name: str, seed: int, number: int, shared: Path, end: float) -> tuple[str, Counter[str]]:
    """Make one trial in a process of the campaign's, unless it is too late; why it failed, and its counts."""
    counts: Counter[str] = Counter()
    if time.monotonic() < end:
        with new_trial(name, seed, number, counts, shared) as trial, contextlib.redirect_stderr(io.StringIO()):
            counts["trials"], begun = 1, time.monotonic()
            try:
                PARTS[name].trial(trial)
            except Exception:
                return traceback.format_exc(), counts
            finally:
                counts["seconds"] = round(time.monotonic() - begun)
    return "", counts
