"""Whether a run is the first of its seed: which ones were moved aside before it."""

from __future__ import annotations

from erlbench.verification.check import AGREES, UNKNOWN, Check, Files
from erlbench.words import counted
from erlbench.work.repeats import repeats_of, scores_in_words


def check_starts(run: Files) -> Check:
    """`UNKNOWN` where earlier runs were moved aside, as nobody can verify why this one was kept."""
    if repeats := repeats_of(run.path):
        earlier = counted(len(repeats), "earlier run")
        return Check("starts", UNKNOWN, f"{earlier} of this seed moved aside by --force: {scores_in_words(repeats)}")
    if not run.meta.get("format"):
        return Check("starts", UNKNOWN, "the run did not record whether earlier runs of its seed were moved aside")
    return Check("starts", AGREES, f"no earlier run of this seed is recorded; {counted(len(run.starts), 'start')}")
