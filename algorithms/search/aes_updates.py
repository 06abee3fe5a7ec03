"""How AES-RL moves the mean of its search towards one evaluated individual, and adapts the variance.

Lee, Lee, Shin, Kweon, "An Efficient Asynchronous Method for Integrating Evolutionary and Gradient-based Policy
Search", NeurIPS 2020, sections 3.3 and 3.4. A rule of the mean turns the individual's fitness f(z) and the mean's
fitness f(mu) into the update ratio p of eq. 4; `psg` is the pair (p_positive, p_negative) that multiplies p, and the
"oldest" rule has no ratio: it ranks the last individuals. The variance is one number per parameter, `(P,)` float64, as
in the public code, and never falls below a floor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

Psg = tuple[float, float]
Ratio = Callable[[float, float, float, Psg], float]


def full_move(f_z: float, f_mean: float, scale: float, psg: Psg) -> float:
    """Eq. 5, the (1+1)-ES: all the way to a strictly better individual; `scale` and `psg` play no part."""
    return 1.0 if f_z > f_mean else 0.0


def fixed_range_linear(f_z: float, f_mean: float, scale: float, psg: Psg) -> float:
    """Eq. 6 and 7: the difference over the range r = `scale`, clipped to [-1, 1], times p_positive or p_negative."""
    return _scaled((f_z - f_mean) / scale, psg[0] if f_z > f_mean else psg[1])


def fixed_range_sigmoid(f_z: float, f_mean: float, scale: float, psg: Psg) -> float:
    """Eq. 8: the sigmoid of the difference over r = `scale`.

    With (1, 1), as in the authors' public code, p runs smoothly from 0 to 1 and is 1/2 at a tie; with (1, 0) it
    jumps from 0 to 1/2 there.
    """
    x = max(-700.0, min(700.0, (f_z - f_mean) / scale))
    return _scaled(1.0 / (1.0 + math.exp(-x)), psg[0] if f_z > f_mean else psg[1])


def baseline_absolute(f_z: float, f_mean: float, scale: float, psg: Psg) -> float:
    """Eq. 9 with the baseline f_b = `scale`; `psg` plays no part.

    Where the ratio has no meaning: an individual below the baseline does not move the mean; a mean at or below
    the baseline is replaced by an individual that is not below it.
    """
    if f_z < scale:
        return 0.0
    if f_mean <= scale:
        return 1.0
    return (f_z - scale) / ((f_mean - scale) + (f_z - scale))


def baseline_absolute_clipped(f_z: float, f_mean: float, scale: float, psg: Psg) -> float:
    """Eq. 9 as in the authors' public code: clipped to [0, 1], whatever the sign of the denominator.

    It rejects every individual when the mean lies far below the baseline. 0 where the denominator is 0.
    """
    total = (f_mean - scale) + (f_z - scale)
    if f_z < scale or total == 0.0:
        return 0.0
    return max(0.0, min(1.0, 1.0 - (f_mean - scale) / total))


def baseline_relative(f_z: float, f_mean: float, scale: float, psg: Psg) -> float:
    """Eq. 10 with f_b = `scale` > 0 and the moving baseline f_rb = f(mu) - f_b: x / (f_b + x) for x = f(z) - f_rb.

    1/2 at a tie, 2/3 at f(mu) + f_b, 0 from f(mu) - f_b downwards if p_negative is 0. Otherwise the ratio is
    clipped at -1 down to f(mu) - 2 f_b, where it has its pole, and 0 below.
    """
    x = f_z - (f_mean - scale)
    if x <= -scale * (1.0 - 1e-6) or (x <= 0.0 and psg[1] == 0.0):
        return 0.0
    return _scaled(x / (scale + x), psg[0] if x >= 0.0 else psg[1])


_BASELINES = baseline_absolute, baseline_absolute_clipped, baseline_relative
_RULES = full_move, fixed_range_linear, fixed_range_sigmoid, *_BASELINES
RATIOS: Mapping[str, Ratio] = MappingProxyType({rule.__name__.replace("_", "-"): rule for rule in _RULES})

OLDEST = "oldest"
MEAN_UPDATES = (*RATIOS, OLDEST)


def update_ratio(rule: str, f_z: float, f_mean: float, scale: float, psg: Psg) -> float:
    """The ratio p of the rule named `rule`; 0 if a fitness is NaN or infinite."""
    if not (math.isfinite(f_z) and math.isfinite(f_mean)):
        return 0.0
    return RATIOS[rule](f_z, f_mean, scale, psg)


def move(mean: np.ndarray, z: np.ndarray, p: float) -> np.ndarray:
    """Eq. 4: (1 - p) mean + p z, `(P,)` float64; p = 0 gives the mean and p = 1 gives z, exactly."""
    return (1.0 - p) * mean + p * z.astype(np.float64)


def oldest(mean: np.ndarray, elites: np.ndarray, size: int) -> np.ndarray:
    """The rank-based rule: mean + (sum_i lambda_i z_(i) - mean) / size, `(P,)` float64.

    `elites` is the weighted mean of the best of the last `size` individuals; the newest takes the oldest one's
    place, and the step is divided by `size` because each individual causes one (Glasmachers, "A natural evolution
    strategy with asynchronous strategy updates", GECCO 2013).
    """
    return mean + (elites - mean) / size


def _scaled(ratio: float, factor: float) -> float:
    return factor * max(-1.0, min(1.0, ratio)) if factor else 0.0


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
    variance: np.ndarray, z: np.ndarray, old: np.ndarray, new: np.ndarray, p: float, n: float, floor: float = FLOOR
) -> np.ndarray:
    """Eq. 11, element-wise, with constant n: v + ((z - old)(z - new) - v) / n for the means before and after."""
    if p < SMALLEST_RATIO:
        return variance
    z = z.astype(np.float64)
    return np.maximum(variance + ((z - old) * (z - new) - variance) / n, floor)


def online_adaptive(
    variance: np.ndarray, z: np.ndarray, old: np.ndarray, new: np.ndarray, p: float, floor: float = FLOOR
) -> np.ndarray:
    """Eq. 11, element-wise, with n = max((1 - p) / p, 1) of eq. 12."""
    n = max((1.0 - p) / p, 1.0) if p >= SMALLEST_RATIO else 1.0
    return online_fixed(variance, z, old, new, p, n, floor)


FEWEST = 10  # individuals whose returns give a scale
UNKNOWN = 1.0  # while all returns are equal


@dataclass
class FitnessScale:
    """What is known of the returns: all of them until the scale is fixed, then two numbers."""

    returns: list[float] = field(default_factory=list)
    spread: float | None = None  # the scale, once it is fixed
    lowest: float | None = None  # a bad score, likewise

    @property
    def known(self) -> bool:
        """Whether the scale is fixed for the rest of the run."""
        return self.spread is not None

    def add(self, fitness: float, warm: bool) -> None:
        """Note an individual's fitness; the scale is fixed when the warm-up is over and returns differ."""
        if self.known or not math.isfinite(fitness):
            return
        self.returns.append(fitness)
        if warm and len(self.returns) >= FEWEST and (spread := deviation(self.returns)) > 0.0:
            self.spread, self.lowest, self.returns = spread, min(self.returns), []

    def now(self) -> float:
        """The scale as it is known now, above 0."""
        return self.spread or deviation(self.returns) or UNKNOWN

    def worst(self) -> float:
        """A bad score as it is known now."""
        return self.lowest if self.lowest is not None else min(self.returns, default=-UNKNOWN)


def deviation(returns: Sequence[float]) -> float:
    """The sample standard deviation; 0 for fewer than two."""
    if len(returns) < 2:
        return 0.0
    mean = math.fsum(returns) / len(returns)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in returns) / (len(returns) - 1))
