"""What is read from an environment's answers, also below the border (`work/contract.py`): rewards and successes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

REALS = frozenset({float, int, np.float64, np.float32})  # what rewards mostly are; others are looked at
NUMBERS = "fiub"  # kinds of dtypes
SOLVED, IS_SOLVED = "success", "is_success"  # in an info: whether the task is solved
EARLIER = "erlbench.earlier"  # in an info: `solved` at last and ever, in the frames of its step before the last


def is_real(reward: Any) -> bool:
    """Whether a reward is one real number."""
    if type(reward) in REALS:
        return True
    is_single = np.shape(reward) == () and not isinstance(reward, np.ma.MaskedArray)
    return is_single and np.asarray(reward).dtype.kind in NUMBERS


def solved(info: Mapping[str, Any]) -> bool | None:
    """Whether an info says that the task is solved; None where it does not tell."""
    for name in (SOLVED, IS_SOLVED):
        if name in info and (value := number(info[name])) == value:
            return value != 0
    return None


def number(value: Any) -> float:
    """A real number, or an array of one; NaN for anything else."""
    try:
        array = np.asarray(value)
        return float(array.item()) if array.size == 1 and array.dtype.kind in NUMBERS else float("nan")
    except Exception:  # of a foreign object
        return float("nan")
