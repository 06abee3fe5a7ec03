"""How far a cell is, in words: for a line, or for the two lines of a terminal."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from erlbench.running.remaining import Reading, Remaining

POINTS = 12  # of the little curve
BLOCKS = "▁▂▃▄▅▆▇█"


def reading_words(reading: Reading, rate: float, left: float | None, compact: bool = False) -> list[str]:
    """Steps, steps a second, remaining time, returns and busy processes as words; `compact` rounds thousands.

    After the training the evaluations that were played stand in place of the speed.
    """
    count = short if compact else "{:,.0f}".format
    total = f"/{count(reading.total_timesteps)}" if reading.total_timesteps else ""
    budget = f"{count(reading.timesteps)}{total} steps"
    if reading.total_minutes is not None:
        budget += f", {reading.minutes:.1f}/{reading.total_minutes:g} modelled minutes"
    if reading.total_generations:
        budget = f"{count(reading.timesteps)} steps, generation {reading.generation}/{reading.total_generations}"
    speed = f"{count(rate) if rate else '-'}/s"
    if reading.evaluations:
        speed = f"evaluation {min(reading.evaluated + 1, reading.evaluations)} of {reading.evaluations}"
    return [
        budget,
        speed,
        f"{'-:--:--' if left is None else clock_time(left)} left",
        *_returns(reading, compact),
        f"busy {reading.busy}/{reading.processes}",
    ]


def _returns(reading: Reading, compact: bool) -> list[str]:
    """The training return while it trains, and the last score where there is one."""
    trains = reading.training_return is not None and not reading.evaluations
    words = [f"training {'' if compact else 'return '}{reading.training_return:,.1f}"] if trains else []
    if reading.last_return is not None:
        words.append(f"score {reading.last_return:,.1f}")
    return words or ["score -"]


def overall(remaining: Remaining) -> str:
    """`cell 3 of 6, 0:01:12 left for all`."""
    left = remaining.all()
    time_left = "" if left is None else f", {clock_time(left)} left for all"
    return f"cell {remaining.number} of {len(remaining.workloads)}{time_left}"


def sparkline(values: Iterable[float]) -> str:
    """Values as blocks of different height; nothing where there are fewer than two."""
    values = list(values)
    if len(values) < 2:
        return ""
    low, high = min(values), max(values)
    scale = (len(BLOCKS) - 1) / (high - low) if high > low else 0.0
    return "".join(BLOCKS[round((value - low) * scale)] for value in values)


class LittleCurve:
    """The returns of a running cell as blocks: of its training, block by block of the budget; then its last scores."""

    def __init__(self) -> None:
        self._training: dict[int, float] = {}  # by the part of the budget
        self._scores: deque[float] = deque(maxlen=POINTS)

    def add(self, reading: Reading) -> None:
        """Take in where the cell is."""
        if reading.training_return is not None and not reading.evaluations:
            self._training[min(POINTS - 1, int(POINTS * reading.work / reading.whole))] = reading.training_return
        if reading.last_return is not None and [reading.last_return] != [*self._scores][-1:]:
            self._scores.append(reading.last_return)

    def __str__(self) -> str:
        return sparkline(self._scores) or sparkline(self._training.values())


def short(count: float) -> str:
    """`950`, `12.3k`, `1.25M`."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if count >= size:
            return f"{count / size:.3g}{letter}"
    return f"{count:.0f}"


def clock_time(seconds: float) -> str:
    """h:mm:ss."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d}:{second:02d}"
