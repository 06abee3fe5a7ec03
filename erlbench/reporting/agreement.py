"""Checks that the runs of a cell, and the algorithms of a page, agree; and the remarks where they do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from erlbench.experiment.fairness import compare_algorithms, read_budgets
from erlbench.records.run import scores_in_words
from erlbench.reporting.cells import STD
from erlbench.reporting.documents import Column, Table, build_table
from erlbench.reporting.formats import NONE, list_first, steps
from erlbench.reporting.options import PaperStyle, select_items
from erlbench.reporting.page_cells import PageCells
from erlbench.reporting.pairs import SIMILAR
from erlbench.reporting.runs import run_tables
from erlbench.reporting.statistics import group_items
from erlbench.words import counted
from erlbench.work.identity import changes

Runs = Sequence[Any]  # rows of the frame of runs


def find_disagreements(cells: Iterable[tuple[str, Runs]], by_final: bool = False) -> Iterator[str]:
    """A remark for each of `CHECKS` with the cells, label and runs, that it finds something in.

    `by_final`: the scores are of final evaluations, whose numbers of episodes matter.
    """
    cells = list(cells)
    for sentence, describe in CHECKS.items():
        if describe is not describe_episodes or by_final:
            yield from list_cells(sentence, ((label, describe(runs)) for label, runs in cells))


def list_cells(sentence: str, texts: Iterable[tuple[str, str]]) -> Iterator[str]:
    """The sentence with the labels that have a text; nothing where none has."""
    listed = [f"{label} ({text})" for label, text in texts if text]
    if listed:
        yield f"{sentence}: {'; '.join(listed)}."


def describe_kernels(runs: Runs) -> str:
    """The kernels, where the runs were computed by several."""
    kernels = sorted({kernel for run in runs for kernel in run.kernels})
    return " | ".join(kernels) if len(kernels) > 1 else ""


def describe_identities(runs: Runs) -> str:
    """The seeds whose identity, in any start, differs from the first recorded identity, with the differences."""
    recorded = [run for run in runs if run.identities]
    seeds: dict[str, list[str]] = {}
    for run in recorded:
        first = recorded[0].identities[0]
        lines = list(dict.fromkeys(line for identity in run.identities for line in changes(first, identity)))
        within = "changed within the run: " if len(run.identities) > 1 else ""
        if lines:
            seeds.setdefault(f"{within}{', '.join(list_first(lines))}", []).append(str(run.seed))
    missing = [str(run.seed) for run in runs if not run.identities]
    if seeds and missing:
        seeds["not recorded"] = missing
    return "; ".join(f"seed {', '.join(of_text)}: {text}" for text, of_text in seeds.items())


def describe_repeats(runs: Runs) -> str:
    """The runs of seeds that were run before, with the earlier scores."""
    return "; ".join(
        f"seed {run.seed}: run {len(run.repeats) + 1} of this seed, before it {scores_in_words(run.repeats)}"
        for run in runs
        if run.repeats
    )


def describe_marks(runs: Runs) -> str:
    """Why runs may not be repeatable, with their seeds."""
    seeds = group_items((mark, str(run.seed)) for run in runs for mark in run.marks)
    return "; ".join(list_first([f"{mark}, seed {', '.join(of_mark)}" for mark, of_mark in seeds.items()]))


def describe_draws(runs: Runs) -> str:
    """The seeds that have several runs."""
    several = sorted(seed for seed, count in Counter(run.seed for run in runs).items() if count > 1)
    return f"{counted(len(runs), 'run')}, seed {', '.join(map(str, several))} on several" if several else ""


def describe_episodes(runs: Runs) -> str:
    """The numbers of episodes of final evaluations, where there are several: a cut may be the end of some runs."""
    counts = episode_counts(runs)
    return " or ".join(counts) if len(counts) > 1 else ""


CHECKS: dict[str, Callable[[Runs], str]] = {
    "MIXED KERNELS: sums round differently on them, so equal seeds part": describe_kernels,
    "MIXED IDENTITIES: the mean is over runs with different software": describe_identities,
    "REPEATED SEEDS: --force moved earlier runs aside": describe_repeats,
    "NOT REPEATABLE, as far as is known": describe_marks,
    "SEVERAL KERNELS: a seed that ran with several kernels or packages counts once, by the mean of its runs; n counts "
    f"seeds; Std is {STD}": describe_draws,
    "UNEQUAL EPISODES: the mean is over scores of different numbers of episodes": describe_episodes,
}


def episode_counts(runs: Iterable[Any], column: str = "final_episodes") -> list[str]:
    """Numbers of episodes of the evaluations that give the scores, ascending, where recorded."""
    return sorted({getattr(run, column) for run in runs} - {""}, key=lambda count: (len(count), count))


def departure_notes(cells: Iterable[Any]) -> Iterator[str]:
    """A remark on the cells whose runs' settings are not the study's."""
    texts = ((f"{cell.label} on {cell.env}", "; ".join(list_first(cell.departures))) for cell in cells)
    return list_cells("OTHER SETTINGS than the study's", texts)


def change_between(runs: Runs, others: Runs) -> str:
    """How `others` differ from `runs` in kernel and identity: `same`, `unknown`, `mixed`, or what has changed."""
    if not all(run.identities and run.kernels for run in (*runs, *others)):
        return "unknown"
    kernels = [{kernel for run in side for kernel in run.kernels} for side in (runs, others)]
    last = [side[-1].identities[-1] for side in (runs, others)]
    differing = [*(["kernel"] if kernels[0] != kernels[1] else []), *list_first(changes(*last))]
    return "; ".join(differing) or ("mixed" if describe_identities((*runs, *others)) else "same")


NETWORKS = "hidden layers"  # an aspect of `compare_algorithms`


def list_caveats(page: PageCells, style: PaperStyle) -> list[str]:
    """A sentence each for several budgets, unlike simulator steps, unlike networks of what `style` shows."""
    labels = {cell.name: style.label(cell.name, cell.label) for cell in page.entries}
    shown = select_items(labels, style.algorithms, str)
    groups = select_items(page.groups, style.environments, lambda group: group.env)
    budgets = group_items((group.limit, style.label(group.env)) for group in groups)
    listed = "; ".join(f"{limit} ({', '.join(envs)})" for limit, envs in budgets.items())
    lines = [f"Budgets: {listed}."] if len(budgets) > 1 else []
    for group in groups:
        cells = select_items((cell for cell in group.cells if cell.done), shown, lambda cell: cell.name)
        used = {labels[cell.name]: cell.learning_timesteps for cell in cells}
        if used and max(used.values()) > SIMILAR * min(used.values()):
            listed = _listed({name: steps(value) for name, value in used.items()})
            lines.append(f"Simulator steps used on {style.label(group.env)}: {listed}.")
    names, aspects = compare_algorithms(run_tables(run) for run in page.runs if run.name in shown)
    if NETWORKS in aspects:
        lines.append(f"Hidden layers: {_listed(dict(zip(map(style.label, names), aspects[NETWORKS])))}.")
    return lines


def _listed(values: dict[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


MOST_ALGORITHMS = 8  # algorithms in the table of settings; of more, none is compared line by line


def fairness_table(page: PageCells) -> Table | None:
    """What differs between the algorithms of a page; None where nothing does, or for more than `MOST_ALGORITHMS`."""
    names, lines = compare_algorithms(run_tables(run) for run in page.runs)
    if not 2 <= len(names) <= MOST_ALGORITHMS or not lines:
        return None
    titles = [f"{name} (algorithm)" if name.lower() == "what" else name for name in names]
    columns = [Column("What", ("what",)), *(Column(title, (title,)) for title in titles)]
    rows = [{"what": aspect, **dict(zip(titles, texts, strict=True))} for aspect, texts in lines.items()]
    remarks = (
        "What differs between the compared algorithms besides their ideas; what they share is left out. Overridden: "
        "settings that are not those of the preset. `erlbench run --set NAME=VALUE` makes settings equal.",
    )
    return Table("fairness", page.heading("what differs between the algorithms"), columns, rows, remarks)


def tuning_table(page: PageCells) -> Table | None:
    """Which defaults of the page's algorithms were tuned, where, by whom, how often; None without any."""
    algos = {run.algo for run in page.runs}
    rows = [{**row} for row in read_budgets() if row["algorithm"] in algos]
    remarks = (
        "Defaults that were tuned on the tasks of the comparison are an advantage that scores do not show; they do not "
        "count where they are overridden. Trials of `erlbench tune` are counted by that command.",
    )
    return build_table("tuning", page.heading("tuning of the defaults"), rows, remarks) if rows else None


def imported_table(page: PageCells) -> Table | None:
    """Whose the imported runs of a page are; None without any."""
    runs = ((run, run.imported) for run in page.runs if run.imported)
    cells = group_items(((run.env, run.name, about.origin, about.format), run) for run, about in runs)
    rows = [
        {"environment": env, "algorithm": name, "seeds": ", ".join(str(run.seed) for run in runs), "origin": origin,
         "licence": runs[0].imported.licence or NONE, "read_from": kind, "returns_are_of": runs[0].imported.returns}
        for (env, name, origin, kind), runs in cells.items() if runs[0].imported
    ]  # fmt: skip
    remarks = ("Other programs made these runs. Nothing of them was computed again here.",)
    return build_table("imported", page.heading("imported runs"), rows, remarks) if rows else None
