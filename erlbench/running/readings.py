"""How far a cell is, in words: for a line, or for the two lines of a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from erlbench.running.remaining import Reading, Remaining

BLOCKS = "▁▂▃▄▅▆▇█"


def reading_words(reading: Reading, rate: float, left: float | None, compact: bool = False) -> list[str]:
    """Steps, steps a second, remaining time, last score and busy processes as words; `compact` rounds thousands.

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
        f"score {'-' if reading.last_return is None else f'{reading.last_return:,.1f}'}",
        f"busy {reading.busy}/{reading.processes}",
    ]


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
