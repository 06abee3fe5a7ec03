"""Remarks on runs that should be alike and are not: packages, seeds, episodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from erlbench.records.run import scores_in_words
from erlbench.reporting.data.runs import StoredRun
from erlbench.work.identity import changes

MOST = 5  # differences that are listed
Cells = Iterable[tuple[str, Sequence[StoredRun]]]  # label and runs


def mixed_identities(cells: Cells) -> Iterator[str]:
    """A remark on the cells whose runs, or the starts of one run, had different packages, files or models.

    Where some recorded none, it says which ones.
    """
    mixed = [f"{label} ({'; '.join(found)})" for label, runs in cells if (found := [*_groups(runs)])]
    if mixed:
        yield f"MIXED IDENTITIES: the mean is over runs with different software: {'; '.join(mixed)}."


def unequal_episodes(cells: Cells) -> Iterator[str]:
    """A remark on the cells (label, runs) some of whose scores are means of more episodes than others.

    They are where runs of one experiment are cut at a moment that is the end of some: a final evaluation has more.
    """
    unequal = [f"{label} ({' or '.join(counts)})" for label, runs in cells if len(counts := episode_counts(runs)) > 1]
    if unequal:
        yield f"UNEQUAL EPISODES: the mean is over scores of different numbers of episodes: {'; '.join(unequal)}."


def episode_counts(runs: Iterable[StoredRun]) -> list[str]:
    """Numbers of episodes of the evaluations that give the scores, ascending, as far as they are known."""
    return sorted({run.final_episodes for run in runs if run.final_episodes}, key=lambda count: (len(count), count))


def repeated_seeds(cells: Cells) -> Iterator[str]:
    """A remark on the seeds that were run before, with the scores that they had."""
    found = [
        f"{label}, seed {run.seed}: run {len(earlier) + 1} of this seed, before it {scores_in_words(earlier)}"
        for label, runs in cells for run in runs if (earlier := run.machine.repeats)
    ]  # fmt: skip
    if found:
        yield f"REPEATED SEEDS: --force moved earlier runs aside: {' | '.join(found)}."


def not_repeatable(cells: Cells) -> Iterator[str]:
    """A remark on the cells with runs whose environment was not tried, or cannot be repeated, with the reason."""
    found: dict[str, list[str]] = {}
    for label, runs in cells:
        for run in runs:
            for mark in run.machine.marks:
                found.setdefault(f"{label}: {mark}", []).append(str(run.seed))
    if found:
        listed = [f"{what} (seed {', '.join(seeds)})" for what, seeds in found.items()]
        yield f"NOT REPEATABLE, as far as is known: {' | '.join(_listed(listed))}."


def change_between(runs: Sequence[StoredRun], others: Sequence[StoredRun]) -> str:
    """How `others` differ from `runs` in kernel and identity: `same`, `unknown`, `mixed`, or what has changed."""
    if not all(run.machine.identities and run.machine.kernels for run in (*runs, *others)):
        return "unknown"
    kernels = [{kernel for run in side for kernel in run.machine.kernels} for side in (runs, others)]
    last = [side[-1].machine.identities[-1] for side in (runs, others)]
    found = [*(["kernel"] if kernels[0] != kernels[1] else []), *_listed(changes(*last))]
    return "; ".join(found) or ("mixed" if any(_groups((*runs, *others))) else "same")


def _groups(runs: Sequence[StoredRun]) -> Iterator[str]:
    """The seeds whose identity is not that of the first recorded one, with what differs."""
    known = [run for run in runs if run.machine.identities]
    if not known:
        return
    first = known[0].machine.identities[0]
    seeds: dict[str, list[str]] = {}
    for run in known:
        lines = list(dict.fromkeys(line for found in run.machine.identities for line in changes(first, found)))
        within = len(run.machine.identities) > 1
        if lines:
            text = f"{'changed within the run: ' if within else ''}{', '.join(_listed(lines))}"
            seeds.setdefault(text, []).append(str(run.seed))
    for text, those in seeds.items():
        yield f"seed {', '.join(those)}: {text}"
    if seeds and (missing := [str(run.seed) for run in runs if not run.machine.identities]):
        yield f"seed {', '.join(missing)}: not recorded"


def _listed(lines: Sequence[str]) -> list[str]:
    return [*lines[:MOST], *([f"{len(lines) - MOST} more"] if len(lines) > MOST else [])]
