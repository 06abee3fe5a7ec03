"""How values are printed: numbers, percentages, intervals. A missing value is a dash."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

NONE = "–"  # of a cell without a value
SMALL, LARGE = 0.1, 1e12  # below and above them a number has two and three digits


def text(value: object) -> str:
    """A text as it is; a dash for an empty one or None."""
    return NONE if value is None or value == "" else str(value)


def number(value: float) -> str:
    """1,234 or 56.7 or 0.12 or 0.034 or 5.6e-07 or 7.8e+20, and a dash for NaN."""
    if math.isnan(value):
        return NONE
    if 0 < abs(value) < SMALL:
        return f"{value:.2g}".replace("-", "−", int(value < 0))
    if abs(value) >= LARGE:
        return f"{value:.3g}".replace("-", "−", int(value < 0))
    digits = 0 if abs(value) >= 1000 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f}".replace("-", "−")


def significant(value: float) -> str:
    """1,234 or 56.7 or 0.0123: three digits, and all before the point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def count(value: float) -> str:
    """1,234: a whole number; a dash for NaN and infinity."""
    return f"{value:,.0f}".replace("-", "−") if math.isfinite(value) else NONE


def exact(value: float) -> str:
    """A published number with the digits it was published with; a dash for NaN."""
    return NONE if math.isnan(value) else f"{value:,.10g}".replace("-", "−")


def p_value(p: float) -> str:
    """0.012, rounded up, so that it looks no smaller than a level; <0.001; a dash for NaN."""
    return NONE if math.isnan(p) else "<0.001" if p < 0.001 else f"{math.ceil(1000 * p - 1e-9) / 1000:.3f}"


def percent(value: float) -> str:
    """+1.2 % with its sign."""
    return NONE if math.isnan(value) else f"{value:+.1f} %".replace("-", "−")


def share(value: float) -> str:
    """0.123 as 12.3 %; a dash for NaN."""
    return NONE if math.isnan(value) else f"{100 * value:.1f} %"


def with_interval(value: float, low: float, high: float) -> str:
    """A value [its interval], which is left out where there is none; a dash for NaN."""
    brackets = "" if math.isnan(low) else f" [{number(low)}, {number(high)}]"
    return NONE if math.isnan(value) else number(value) + brackets


def fraction(numerator: int, denominator: int) -> str:
    """2/3: so many of so many."""
    return f"{numerator}/{denominator}"


def plus_minus(mean: float, std: float) -> str:
    """The mean ± standard deviation, the latter only where there is one."""
    return number(mean) + ("" if math.isnan(std) or math.isnan(mean) else f" ± {number(std)}")


def exact_plus_minus(mean: float, std: float) -> str:
    """A published mean ± standard deviation with the digits of the source."""
    return exact(mean) if math.isnan(mean) or math.isnan(std) else f"{exact(mean)} ± {exact(std)}"


def between(low: float, high: float) -> str:
    """[120, 130]; a dash for NaN."""
    return NONE if math.isnan(low) or math.isnan(high) else f"[{number(low)}, {number(high)}]"


def interval(value: float, low: float, high: float) -> str:
    """0.78 [0.50, 1.00], the brackets only where there is an interval."""
    if math.isnan(value):
        return NONE
    return f"{value:.2f}" + ("" if math.isnan(low) else f" [{low:.2f}, {high:.2f}]")


def steps(value: float) -> str:
    """20k, 1M, 1.5M: training steps as on the axes; a dash for NaN."""
    if math.isnan(value):
        return NONE
    rounded = float(f"{value:.4g}")  # before the unit is chosen: 999,999 is 1M
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if abs(rounded) >= size:
            return f"{rounded / size:.4g}{unit}"
    return f"{value:g}"


def slug(name: str) -> str:
    """A name as part of a file's name or of an id: letters, digits, dots, hyphens, underscores."""
    return re.sub(r"(?:[^\w.-]|_)+", "_", name)


def slugs(names: Sequence[str]) -> list[str]:
    """The `slug` of each name, with its place where others have the same."""
    texts = [*map(slug, names)]
    return [text if texts.count(text) == 1 else slug(f"{text}_{i}") for i, text in enumerate(texts)]


def list_first(lines: Sequence[str], most: int = 5, more: str = "more") -> list[str]:
    """The first lines, and the number of the others."""
    return [*lines[:most], *([f"{len(lines) - most} {more}"] if len(lines) > most else [])]


def numbers(*values: float) -> str:
    """1,234, 56.7: several numbers."""
    return ", ".join(map(number, values))


def listed(*values: object) -> str:
    """6, 7: several values as they are."""
    return ", ".join(map(str, values))


def rates(*values: float) -> str:
    """0.50 + –: numbers that add up; a dash where none is there."""
    texts = [NONE if math.isnan(value) else f"{value:.2f}" for value in values]
    return NONE if {*texts} == {NONE} else " + ".join(texts)


def spread(middle: float, most: float) -> str:
    """A median and a quantile, with three digits."""
    return NONE if math.isnan(middle) else f"{significant(middle)}, {significant(most)}"


def seeds_and_runs(seeds: int, planned: int, runs: int) -> str:
    """`2/3`: seeds with a finished run, of planned ones; `3/3 seeds, 6 runs` where seeds have several."""
    several = f" seeds, {runs:,} runs" if runs > seeds else ""
    return fraction(seeds, planned) + several if planned else NONE
