"""What a run's meta.json says of the trial of its environment, where its numbers are promised less for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from erlbench.records.run import starts

NOT_TRIED = "the environment was not tried"


def admission_marks(meta: Mapping[str, Any]) -> list[str]:
    """Why a run may not be repeatable, by any of its starts, each once; empty where all is well or not recorded."""
    marks = []
    for start in starts(meta):
        found = start.get("admission")
        if not isinstance(found, Mapping):
            continue
        if isinstance(reason := found.get("unrepeatable"), str) and reason:
            marks.append(f"the environment cannot be repeated: {reason[:300]}")
        elif found.get("tried") is False:
            marks.append(NOT_TRIED)
    return list(dict.fromkeys(marks))
