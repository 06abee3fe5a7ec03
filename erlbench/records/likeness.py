"""Whether series of returns are too alike for independent runs: copies, blocks of one in another, equal differences.

A finding is a reason to look, and no proof. Runs of one seed have equal beginnings and equal random episodes, which say
nothing.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np

WINDOW = 5  # rows in a row that two runs share by chance only where returns are coarse
FEWEST = 8  # different values of a curve that another one may follow
FEWEST_SEEDS = 5  # scores at equal distances
CHANCE = 1e-4  # of a block, in runs whose returns are as coarse as theirs
CLOSE = 1e-7  # of a curve's spread: what floating-point numbers round
COARSEST, FINEST = -3, 6  # decimal places
ROUNDED = 1e-5  # of a unit of that place
MOST_CANDIDATES = 10_000


class Likeness(StrEnum):
    """How two series are alike."""

    COPY = "the same rows"
    BLOCK = "a block of the same rows"
    SHIFTED = "the same curve but for a constant and a factor"
    EVEN = "scores at equal distances"


@dataclass(frozen=True, eq=False)
class ReturnSeries:
    """The returns of a run, (rows,), in their order."""

    path: Path
    env: str
    name: str  # of the algorithm
    seed: int
    values: np.ndarray
    training: bool = False  # of training episodes, whose random actions are those of every run of the seed


@dataclass(frozen=True)
class Suspicion:
    """What two runs have in common: `rows` of them, from row `start` of the one and row `other_start` of the other."""

    kind: Likeness
    path: Path
    other: Path
    rows: int
    start: int = 0
    other_start: int = 0
    same_seed: bool = False

    def __str__(self) -> str:
        where = f"{self.path} and {self.other}"
        if self.kind is Likeness.BLOCK:
            where = f"{self.path} (from row {self.start + 1}) and {self.other} (from row {self.other_start + 1})"
        return f"suspicious: {self.kind.value}, {self.rows}: {where}"


def suspicions(series: Iterable[ReturnSeries]) -> list[Suspicion]:
    """What is suspicious among runs; of each pair the first kind in the order of `Likeness`."""
    known = [one for one in series if len(one.values)]
    found: dict[tuple[Path, Path], Suspicion] = {}
    for one in (*_blocks(known), *_shifted(known), *_even(known)):
        found.setdefault((one.path, one.other), one)
    return list(found.values())


def _blocks(series: Sequence[ReturnSeries]) -> Iterator[Suspicion]:
    """Blocks of rows that stand in two series, or twice in one: the longest of each pair."""
    best: dict[tuple[int, int], Suspicion] = {}
    for first, second, shift in _candidates(series):
        found = _common(series[first], series[second], shift)
        if found is not None and ((first, second) not in best or found.rows > best[first, second].rows):
            best[first, second] = found
    yield from best.values()


def _candidates(series: Sequence[ReturnSeries]) -> list[tuple[int, int, int]]:
    """Pairs of series with the shift at which `WINDOW` rows of the second are those of the first."""
    owners: dict[bytes, tuple[int, int]] = {}
    found: dict[tuple[int, int, int], None] = {}
    for index, one in enumerate(series):
        for start, window in _windows(one.values):
            first, there = owners.setdefault(window, (index, start))
            if (first, there) != (index, start) and len(found) < MOST_CANDIDATES:
                found[first, index, start - there] = None
    return list(found)


def _windows(values: np.ndarray) -> Iterator[tuple[int, bytes]]:
    """All windows of different finite values, by their starts."""
    if len(values) < WINDOW:
        return
    rows = np.lib.stride_tricks.sliding_window_view(np.asarray(values, np.float64), WINDOW)
    distinctive = np.isfinite(rows).all(axis=1) & (np.diff(np.sort(rows, axis=1), axis=1) > 0).all(axis=1)
    for start in np.flatnonzero(distinctive):
        yield int(start), rows[start].tobytes()


def _common(one: ReturnSeries, two: ReturnSeries, shift: int) -> Suspicion | None:
    """The longest stretch of equal rows at a shift; None where chance or an equal beginning explains it."""
    begin, end = max(0, -shift), min(len(one.values), len(two.values) - shift)
    a, b = one.values[begin:end], two.values[begin + shift : end + shift]
    edges = np.flatnonzero(np.diff(np.concatenate([[False], a == b, [False]])))
    start, stop = max(zip(edges[::2], edges[1::2], strict=True), key=lambda pair: pair[1] - pair[0], default=(0, 0))
    if len(np.unique(a[start:stop])) < _needed(one, two):
        return None
    whole = stop - start == len(one.values) == len(two.values)
    same_seed = one is not two and (one.env, one.seed) == (two.env, two.seed)
    natural = one.training or not (shift or start)  # equal beginnings of a seed
    if same_seed and natural and not (whole and one.name != two.name):
        return None
    kind = Likeness.COPY if whole else Likeness.BLOCK
    first = begin + int(start)
    return Suspicion(kind, one.path, two.path, int(stop - start), first, first + shift, same_seed)


def _needed(one: ReturnSeries, two: ReturnSeries) -> int:
    """How many different values in a row chance does not repeat, by the number of values that there could be."""
    places = len(one.values) * len(two.values)
    levels = _levels(np.concatenate([one.values, two.values])) / 2  # neighbours are close: returns rise
    return max(WINDOW, math.ceil(math.log(places / CHANCE) / math.log(max(2.0, levels))))


def _levels(values: np.ndarray) -> float:
    """The values between the lowest and the highest, at the decimal place to which they are rounded."""
    values = values[np.isfinite(values)]
    for place in range(COARSEST, FINEST):
        scaled = values * 10.0**place
        if np.abs(scaled - scaled.round()).max(initial=0.0) < ROUNDED:
            return float(np.ptp(scaled)) + 1
    return float(np.ptp(values)) * 10.0**FINEST + 1


def _shifted(series: Sequence[ReturnSeries]) -> Iterator[Suspicion]:
    """Curves of one environment that a constant and a positive factor make equal."""
    alike: defaultdict[tuple[str, int], list[tuple[ReturnSeries, np.ndarray]]] = defaultdict(list)
    for one in series:
        spread = float(np.std(one.values)) if len(np.unique(one.values)) >= FEWEST else 0.0
        if math.isfinite(spread) and spread > CLOSE * (1 + float(np.abs(one.values).max())):
            alike[one.env, len(one.values)].append((one, (one.values - one.values.mean()) / spread))
    for curves in alike.values():
        curves.sort(key=lambda pair: float(pair[1][0]))  # those that are alike stand side by side
        for (one, a), (two, b) in zip(curves, curves[1:], strict=False):
            if np.abs(a - b).max() < CLOSE and not np.array_equal(one.values, two.values):
                yield Suspicion(Likeness.SHIFTED, one.path, two.path, len(a), same_seed=one.seed == two.seed)


def _even(series: Sequence[ReturnSeries]) -> Iterator[Suspicion]:
    """Last values of an algorithm's seeds that are equally far from each other."""
    cells: defaultdict[tuple[str, str], list[ReturnSeries]] = defaultdict(list)
    for one in series:
        if math.isfinite(one.values[-1]):
            cells[one.env, one.name].append(one)
    for own in cells.values():
        if len({one.seed for one in own}) == len(own) >= FEWEST_SEEDS:
            own.sort(key=lambda one: float(one.values[-1]))
            last = np.array([one.values[-1] for one in own])
            gaps = np.diff(last)
            if gaps.min() > 0 and np.ptp(gaps) < CLOSE * (last[-1] - last[0]):
                yield Suspicion(Likeness.EVEN, own[0].path, own[-1].path, len(own))
