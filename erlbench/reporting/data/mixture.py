"""Remarks on run sets whose scores are not measured alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from erlbench.reporting.data.runs import Run


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
