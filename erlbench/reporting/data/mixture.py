"""Remarks on run sets whose runs are not alike: a mean over them mixes different experiments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from erlbench.reporting.data.runs import Run

OF_RUNS = ("workers", "simulated_time")  # attributes of `Run` that change what its numbers are
MOST = 5  # names that are listed


def mixed_settings(cells: Iterable[tuple[str, Sequence[Run]]]) -> Iterator[str]:
    """A remark on the cells (label, runs) whose runs differ in more than their seeds.

    A setting that some runs do not have is not compared among them: an older version wrote these.
    """
    mixed = [f"{label} ({', '.join(names)})" for label, runs in cells if (names := _differing(runs))]
    if mixed:
        yield f"MIXED SETTINGS: the mean is over runs that differ in more than the seed: {'; '.join(mixed)}."


def unequal_episodes(cells: Iterable[tuple[str, Sequence[Run]]]) -> Iterator[str]:
    """A remark on the cells (label, runs) some of whose scores are means of more episodes than others.

    They are where runs of one experiment are cut at a moment that is the end of some: a final evaluation has more.
    """
    unequal: dict[str, list[str]] = {}
    for label, runs in cells:
        numbers = sorted({run.final_episodes for run in runs}, key=lambda text: (len(text), text))
        if len(numbers) > 1:
            unequal.setdefault(" or ".join(text or "?" for text in numbers), []).append(label)
    for numbers_of, labels in unequal.items():
        yield f"UNEQUAL EPISODES: the mean is over scores of {numbers_of} episodes: {'; '.join(labels)}."


def _differing(runs: Sequence[Run]) -> list[str]:
    names = [name for name in OF_RUNS if len({getattr(run, name) for run in runs}) > 1]
    settings = dict.fromkeys(name for run in runs for name in run.settings)
    names += [name for name in settings if len({str(run.settings[name]) for run in runs if name in run.settings}) > 1]
    return [*names[:MOST], *([f"{len(names) - MOST} more"] if len(names) > MOST else [])]
