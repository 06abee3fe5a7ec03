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
    unequal = [f"{label} ({' or '.join(counts)})" for label, runs in cells if len(counts := episode_counts(runs)) > 1]
    if unequal:
        yield f"UNEQUAL EPISODES: the mean is over scores of different numbers of episodes: {'; '.join(unequal)}."


def episode_counts(runs: Iterable[Run]) -> list[str]:
    """Numbers of episodes of the evaluations that give the scores, ascending, as far as they are known."""
    return sorted({run.final_episodes for run in runs if run.final_episodes}, key=lambda count: (len(count), count))


def _differing(runs: Sequence[Run]) -> list[str]:
    names = [name for name in OF_RUNS if len({getattr(run, name) for run in runs}) > 1]
    settings = dict.fromkeys(name for run in runs for name in run.settings)
    names += [name for name in settings if len({str(run.settings[name]) for run in runs if name in run.settings}) > 1]
    return [*names[:MOST], *([f"{len(names) - MOST} more"] if len(names) > MOST else [])]
