"""Remarks on runs that should be alike and are not: kernels, packages, seeds, episodes, settings.

Each takes cells as (label, runs), the runs as rows of the frame of runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from erlbench.records.run import scores_in_words
from erlbench.reporting.data.seeds import STD
from erlbench.words import counted
from erlbench.work.identity import changes

MOST = 5  # differences that are listed
Cells = Iterable[tuple[str, Sequence[Any]]]


def identity_remarks(cells: Cells) -> Iterator[str]:
    """On the cells whose runs differ in software, on seeds that were run before, and on what may not be repeatable."""
    cells = list(cells)
    mixed = [f"{label} ({'; '.join(groups)})" for label, runs in cells if (groups := [*_identities(runs)])]
    if mixed:
        yield f"MIXED IDENTITIES: the mean is over runs with different software: {'; '.join(mixed)}."
    again = [
        f"{label}, seed {run.seed}: run {len(run.repeats) + 1} of this seed, before it {scores_in_words(run.repeats)}"
        for label, runs in cells for run in runs if run.repeats
    ]  # fmt: skip
    if again:
        yield f"REPEATED SEEDS: --force moved earlier runs aside: {' | '.join(again)}."
    marks: dict[str, list[str]] = {}
    for label, runs in cells:
        for run in runs:
            for mark in run.marks:
                marks.setdefault(f"{label}: {mark}", []).append(str(run.seed))
    if marks:
        listed = [f"{what} (seed {', '.join(seeds)})" for what, seeds in marks.items()]
        yield f"NOT REPEATABLE, as far as is known: {' | '.join(list_first(listed))}."
    several = []
    for label, runs in cells:
        seeds = [run.seed for run in runs]
        if twice := sorted({seed for seed in seeds if seeds.count(seed) > 1}):
            several.append(f"{label} ({counted(len(runs), 'run')}, seed {', '.join(map(str, twice))} on several)")
    if several:
        yield (
            f"SEVERAL KERNELS: a seed that ran with several kernels or packages counts once, by the mean of its runs; "
            f"n counts seeds; Std is {STD}: {'; '.join(several)}."
        )


def mixed_kernels(cells: Cells) -> Iterator[str]:
    """A remark on the cells whose runs were computed by several kernels."""
    kernels = {label: sorted({kernel for run in runs for kernel in run.kernels}) for label, runs in cells}
    mixed = [f"{label} ({' | '.join(names)})" for label, names in kernels.items() if len(names) > 1]
    if mixed:
        yield f"MIXED KERNELS: sums round differently on them, so equal seeds part: {'; '.join(mixed)}."


def unequal_episodes(cells: Cells) -> Iterator[str]:
    """A remark on the cells some of whose scores are means of more episodes than others.

    They are where runs of one experiment are cut at a moment that is the end of some: a final evaluation has more.
    """
    unequal = [f"{label} ({' or '.join(counts)})" for label, runs in cells if len(counts := episode_counts(runs)) > 1]
    if unequal:
        yield f"UNEQUAL EPISODES: the mean is over scores of different numbers of episodes: {'; '.join(unequal)}."


def episode_counts(runs: Iterable[Any]) -> list[str]:
    """Numbers of episodes of the evaluations that give the scores, ascending, as far as they are known."""
    return sorted({run.final_episodes for run in runs if run.final_episodes}, key=lambda count: (len(count), count))


def departure_notes(cells: Iterable[Any]) -> Iterator[str]:
    """A remark on the cells whose runs' settings are not the study's."""
    differing = [
        f"{cell.label} on {cell.env} ({'; '.join(list_first(cell.departures))})" for cell in cells if cell.departures
    ]
    if differing:
        yield f"OTHER SETTINGS than the study's: {'; '.join(differing)}."


def change_between(runs: Sequence[Any], others: Sequence[Any]) -> str:
    """How `others` differ from `runs` in kernel and identity: `same`, `unknown`, `mixed`, or what has changed."""
    if not all(run.identities and run.kernels for run in (*runs, *others)):
        return "unknown"
    kernels = [{kernel for run in side for kernel in run.kernels} for side in (runs, others)]
    last = [side[-1].identities[-1] for side in (runs, others)]
    differing = [*(["kernel"] if kernels[0] != kernels[1] else []), *list_first(changes(*last))]
    return "; ".join(differing) or ("mixed" if any(_identities((*runs, *others))) else "same")


def _identities(runs: Sequence[Any]) -> Iterator[str]:
    """The seeds whose identity, in any start, is not that of the first recorded one, with what differs."""
    recorded = [run for run in runs if run.identities]
    seeds: dict[str, list[str]] = {}
    for run in recorded:
        first = recorded[0].identities[0]
        lines = list(dict.fromkeys(line for identity in run.identities for line in changes(first, identity)))
        within = "changed within the run: " if len(run.identities) > 1 else ""
        if lines:
            seeds.setdefault(f"{within}{', '.join(list_first(lines))}", []).append(str(run.seed))
    for text, own in seeds.items():
        yield f"seed {', '.join(own)}: {text}"
    if seeds and (missing := [str(run.seed) for run in runs if not run.identities]):
        yield f"seed {', '.join(missing)}: not recorded"


def list_first(lines: Sequence[str]) -> list[str]:
    """The first lines, and how many there are besides."""
    return [*lines[:MOST], *([f"{len(lines) - MOST} more"] if len(lines) > MOST else [])]
