"""Whether all runs of results/reference still agree with their own files: `erlbench verify`, run by run."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.harness import Claim
from erlbench.records.run import CONFIG
from erlbench.verification import DIFFERS, verify

REFERENCE = Path("results/reference")


def measure() -> Iterator[Claim]:
    """One number: the runs in which a check differs."""
    runs = sorted(path.parent for path in REFERENCE.rglob(CONFIG))
    claim = f"runs of {REFERENCE} with a difference, of {len(runs)}"
    if not runs:
        yield Claim(claim, math.nan, 0.0, at_least=False, note="not measured: run it in the repository's folder")
        return
    differing = [path for path in runs if any(check.outcome == DIFFERS for check in verify(path))]
    yield Claim(
        claim,
        float(len(differing)),
        0.0,
        at_least=False,
        note=", ".join(map(str, differing)),
        samples={"runs": np.array([len(runs)])},
    )
