"""What stands beside our scores: notes on published numbers, and other people's runs, seed by seed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from erlbench.reporting.data.comparability import compare_environments
from erlbench.reporting.data.page_cells import PageCells
from erlbench.reporting.data.published import Published
from erlbench.reporting.data.references import match_runs
from erlbench.reporting.data.seeds import seed_means, single_run_std
from erlbench.reporting.documents.model import Record, Table
from erlbench.reporting.statistics.estimates import mean, mean_std, median
from erlbench.reporting.statistics.significance import compare
from erlbench.reporting.tables.columns import build_table, cell_rows


def published_notes(page: PageCells, beside: Sequence[tuple[Any, list[Any]]]) -> Iterator[str]:
    """On the published numbers that stand beside cells."""
    numbers = [number for _, of_cell in beside for number in of_cell]
    if not numbers:
        yield f"{page.source} has no numbers for these environments."
        return
    seeds = " or ".join(str(value) for value in sorted({number.seeds for number in numbers if number.seeds}))
    statistic = "mean ± standard deviation" if page.statistic == "mean" else page.statistic.replace("_", " ")
    yield (
        f"Published: {page.source}, {page.table}, {statistic}{f' over {seeds} runs' if seeds else ''}, on "
        f"{', '.join(sorted({number.env for number in numbers}))}."
    )
    by_budget: dict[int, list[tuple[str, int]]] = {}
    for cell, of_cell in beside:
        listed = by_budget.setdefault(cell.own_timesteps or cell.total_timesteps, [])
        listed += [(number.algorithm, number.steps) for number in of_cell if number.steps]
    yield from filter(None, (budget_note(ours, by_budget[ours]) for ours in sorted(by_budget)))
    yield from environment_notes(page.groups)
    for text in sorted({number.remark for number in numbers if number.note}):
        noted = [number for number in numbers if number.remark == text]
        labels, envs = dict.fromkeys(number.algorithm for number in noted), dict.fromkeys(one.env for one in noted)
        yield f"Published {', '.join(labels)} on {', '.join(envs)}: {text}."


def environment_notes(groups: Iterable[Any]) -> Iterator[str]:
    """A sentence for each environment whose published numbers are for another version."""
    for group in groups:
        if group.env_published and group.env_published != group.env:
            yield compare_environments(group.env, group.env_published).note


def budget_note(ours: int, published: Sequence[tuple[str, int]]) -> str:
    """The warning that budgets differ, or an empty text; `published` holds algorithms and their steps."""
    others = sorted({value for _, value in published} - {ours})
    if not others:
        return ""
    differing = list(dict.fromkeys(name for name, value in published if value != ours))
    some = len(differing) < len({name for name, _ in published})
    of = f" ({', '.join(differing)})" if some else ""
    listed = " or ".join(f"{value:,}" for value in others)
    return f"Different budgets: published after {listed} training steps{of}, ours after {ours:,}. Do not compare them."


def match_references(cell: Any, published: Published) -> Iterator[Record]:
    """The cell beside each source with comparable runs, at the nearest common step; `theirs` are the runs."""
    for theirs in published.find_references(cell):
        if (matched := match_runs(cell.done, theirs)) is None:
            continue
        step, values, scores = matched
        their_mean, their_std = mean_std(scores)
        ours = seed_means(values)
        yield {
            **compare(ours, scores), "theirs": theirs, "steps": step, "mean": mean(ours),
            "std": single_run_std(values), "their_mean": their_mean, "their_std": their_std,
            "their_median": median(scores), "their_runs": len(scores),
            "their_scores": " ".join(repr(float(score)) for score in scores), "their_environment": theirs.env,
            "source": theirs.source,
        }  # fmt: skip


def references_table(page: PageCells, published: Published) -> Table | None:
    """None where no source has runs of an algorithm of the page in a comparable environment."""
    rows = [
        {**row, **matched, "n": cell.n, "probability_ours_better": matched["probability_better"]}
        for row, cell in zip(cell_rows(page.cells), page.rows, strict=True)
        if cell.exists
        for matched in match_references(cell, published)
    ]
    remarks = [
        "Other people's runs, seed by seed, where dynamics and reward are those of our environment; mean ± sample "
        "standard deviation at the nearest common step. Sources differ as much as algorithms do and are never pooled."
    ]
    for name in dict.fromkeys(row["source"] for row in rows):
        sets = [row["theirs"] for row in rows if row["source"] == name]
        returns = "; ".join(dict.fromkeys(f"{one.algorithm}: {one.returns}" for one in sets))
        first = sets[0]
        remarks.append(
            f"{name}: {first.repository}, commit {first.commit}, on {first.environments}; {first.description}. "
            f"{returns}."
        )
    return build_table("reference-runs", page.heading("reference runs"), rows, remarks) if rows else None
