"""What tables say below published numbers: whose they are, and where environment or budget is another one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from erlbench.reporting.data.comparability import Environment, Reason, Relation, compare_environments
from erlbench.reporting.data.page_cells import PageCells


def published_notes(page: PageCells, beside: Sequence[tuple[Any, list[Any]]]) -> Iterator[str]:
    """On the published numbers that stand beside cells."""
    numbers = [number for _, own in beside for number in own]
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
    for cell, own in beside:
        listed = by_budget.setdefault(cell.own_timesteps or cell.total_timesteps, [])
        listed += [(number.algorithm, number.steps) for number in own if number.steps]
    yield from filter(None, (budget_note(ours, by_budget[ours]) for ours in sorted(by_budget)))
    yield from environment_notes(page.groups)
    for text in sorted({number.remark for number in numbers if number.note}):
        labels = dict.fromkeys(number.algorithm for number in numbers if number.remark == text)
        envs = dict.fromkeys(number.env for number in numbers if number.remark == text)
        yield f"Published {', '.join(labels)} on {', '.join(envs)}: {text}."


def environment_notes(groups: Iterable[Any]) -> Iterator[str]:
    """A sentence for each environment whose published numbers are for another version."""
    for group in groups:
        if group.env_published and group.env_published != group.env:
            yield environment_note(group.env, group.env_published)


def environment_note(ours: str, theirs: str) -> str:
    """How our environment differs from the published one, in a sentence."""
    found = compare_environments(ours, theirs)
    if found.reason is Reason.SETTINGS:
        own = Environment.of(ours).settings or Environment.of(theirs).settings
        text = f"{ours.partition(' (')[0]} is compared with {theirs}, and one of them has settings of its own ({own})"
    elif found.reason is Reason.UNNAMED:
        kept = "2 and 3 have its dynamics and reward" if found.relation is Relation.SAME else found.difference
        text = f"{ours} is compared with {theirs} of a version that is not named" + (f"; {kept}" if kept else "")
    else:
        text = {
            Reason.IDENTICAL: f"{ours} is {theirs}",
            Reason.KEPT: f"{ours} has the model and the reward of {theirs}",
            Reason.DIFFERENCE: f"{ours} is not {theirs}: {found.difference}",
            Reason.NAME: f"{ours} is compared with numbers for {theirs}, another environment",
            Reason.VERSION: f"{ours} is compared with numbers for {theirs}, another version of the environment",
        }[found.reason]
    return text + (": the scores are not comparable." if found.relation is Relation.INCOMPARABLE else ".")


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
