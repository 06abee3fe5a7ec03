"""How an asynchronous evolution strategy adapts the variance of its search distribution.

AES-RL (Lee et al., NeurIPS 2020), section 3.4, with the element-wise reading of its public code: the variance is one
number per parameter, `(P,)` float64, and never falls below a floor.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

SUCCESS_RULE = "success-rule"
SUCCESS_RULE_FROZEN = "success-rule-frozen"
RANK_BASED = "rank-based"
ONLINE_FIXED = "online-fixed"
ONLINE_ADAPTIVE = "online-adaptive"
VARIANCE_UPDATES = (SUCCESS_RULE, SUCCESS_RULE_FROZEN, RANK_BASED, ONLINE_FIXED, ONLINE_ADAPTIVE)

FLOOR = 1e-5
SMALLEST_RATIO = 1e-3  # below it the individual does not count and the variance stays


def slide(window: Sequence[bool], success: bool, length: int) -> tuple[list[bool], bool]:
    """The last `length` outcomes with the new one, and whether an older one fell out: from then on the rule acts."""
    outcomes = [*window, success]
    return outcomes[-length:], len(outcomes) > length


def freeze(window: Sequence[bool], success: bool, length: int) -> tuple[list[bool], bool]:
    """The first `length` outcomes, forever, and whether they are complete: what the authors' public code does."""
    full = len(window) >= length
    return list(window) if full else [*window, success], full


def success_rule(
    variance: np.ndarray, window: Sequence[bool], threshold: float = 0.2, factor: float = 0.99, floor: float = FLOOR
) -> np.ndarray:
    """Rechenberg's rule: divide by `factor` if the window's success ratio exceeds the threshold, else multiply."""
    rate = sum(window) / len(window)
    return np.maximum(variance / factor if rate > threshold else variance * factor, floor)


def online_fixed(
    variance: np.ndarray,
    z: np.ndarray,
    old: np.ndarray,
    new: np.ndarray,
    p: float,
    n: float = 10.0,
    floor: float = FLOOR,
) -> np.ndarray:
    """Eq. 11, element-wise, with constant n: v + ((z - old)(z - new) - v) / n for the means before and after."""
    return _online(variance, z, old, new, p, n, floor)


def online_adaptive(
    variance: np.ndarray, z: np.ndarray, old: np.ndarray, new: np.ndarray, p: float, floor: float = FLOOR
) -> np.ndarray:
    """Eq. 11, element-wise, with n = max((1 - p) / p, 1) of eq. 12."""
    n = max((1.0 - p) / p, 1.0) if p >= SMALLEST_RATIO else 1.0
    return _online(variance, z, old, new, p, n, floor)


def _online(
    variance: np.ndarray, z: np.ndarray, old: np.ndarray, new: np.ndarray, p: float, n: float, floor: float
) -> np.ndarray:
    if p < SMALLEST_RATIO:
        return variance
    z = z.astype(np.float64)
    return np.maximum(variance + ((z - old) * (z - new) - variance) / n, floor)
