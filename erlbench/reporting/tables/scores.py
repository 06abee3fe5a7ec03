"""The table of scores: final performance beside the baseline and the published numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from erlbench.reporting.data.cells import several_draws
from erlbench.reporting.data.comparison import Comparison, Group, RunSet
from erlbench.reporting.data.departures import departure_notes
from erlbench.reporting.data.identities import (
    episode_counts,
    mixed_identities,
    not_repeatable,
    repeated_seeds,
    unequal_episodes,
)
from erlbench.reporting.data.machine import mixed_kernels
from erlbench.reporting.data.origin import origin_of
from erlbench.reporting.data.published import Number, Published
from erlbench.reporting.data.score import CURVE, FINAL, SUCCESS, SUCCESS_EVER
from erlbench.reporting.documents.formats import exact, exact_plus_minus, number, p_value, percent, steps, with_interval
from erlbench.reporting.documents.model import Column, Record, Table
from erlbench.reporting.statistics import estimates
from erlbench.reporting.statistics.estimates import FEWEST_RUNS, share_interval
from erlbench.reporting.statistics.significance import MARGIN, level_words
from erlbench.reporting.tables.columns import IDENTITY, STATUS, N, cell_record, learning_steps, updates
from erlbench.reporting.tables.published_notes import budget_note, environment_notes
from erlbench.reporting.tables.references import beside, reference_columns, reference_record
from erlbench.reporting.tables.times import machine_notes
from erlbench.reporting.verdict.pairs import compare_with, correct, label, mark

SUCCESSES = {SUCCESS: "last_success", SUCCESS_EVER: "last_success_ever"}  # columns of single episodes


STATISTICS = ("mean", "std", "median")  # of published numbers


def scores_table(comparison: Comparison, published: Published) -> Table:
    """Mean, standard deviation, median of the final evaluation, against baseline and paper."""
    rows: list[Record] = [
        {"group": group, "run_set": run_set, "reference": _reference(comparison, published, group, run_set),
         "versus": compare_with(run_set, group.run_set(comparison.baseline), origin_of(group)),
         "published": {name: _find(published, comparison, group, run_set, name) for name in STATISTICS}}
        for group in comparison.groups for run_set in group.run_sets
    ]  # fmt: skip
    for row, p in zip(rows, correct([row["versus"] for row in rows]), strict=True):
        row["p"] = float(p)
    if comparison.baseline or not comparison.study:
        rows += [*_fitness_counted(comparison, rows), *_failed_counted(comparison, rows)]
    order = {id(group): i for i, group in enumerate(comparison.groups)}
    rows.sort(key=lambda row: order[id(row["group"])])
    remarks = [*_score_notes(comparison), *_test_notes(comparison, rows)]
    if comparison.published:
        remarks += _published_notes(comparison, rows)
    remarks += comparison.notes
    records = [_record(comparison, row) for row in rows]
    columns = [
        *IDENTITY, N, *OWN, *_wilson(comparison), _steps(rows), *_against(comparison, rows), *_paper(comparison),
        *reference_columns([row["reference"] for row in rows if row["reference"]]), updates(records), STATUS,
    ]  # fmt: skip
    title = "return" if _on_the_way(comparison) else comparison.score_title
    return Table("scores", comparison.heading(title), columns, records, remarks)


def _on_the_way(comparison: Comparison) -> bool:
    """Whether scores are of evaluations that need not be the final ones."""
    return comparison.at is not None and comparison.by_final


def _again(comparison: Comparison, row: Record, counted: Callable[[RunSet], RunSet]) -> Record:
    """A second row of a run set, counted otherwise, as the baseline is then; not tested, so nothing is tested twice.

    No reference runs stand beside it, as they were compared with the runs as they are.
    """
    run_set, base = counted(row["run_set"]), row["group"].run_set(comparison.baseline)
    other = counted(base) if base and base is not row["run_set"] else None
    versus = compare_with(run_set, other, origin_of(row["group"]))
    return {**row, "run_set": run_set, "versus": versus, "p": math.nan, "reference": None}


def _fitness_counted(comparison: Comparison, rows: Sequence[Record]) -> Iterator[Record]:
    """Where an algorithm learns from more steps than the budget counts: its score when these fill the budget."""
    for row in rows:
        budget, own = row["group"].total_timesteps, row["run_set"]

        def counted(run_set: RunSet, budget: int = budget) -> RunSet:
            return run_set.within(run_set.own_timesteps or budget) if run_set.has_fitness_steps else run_set

        if budget and own.has_fitness_steps and not own.nominal:
            yield _again(comparison, row, counted)


def _failed_counted(comparison: Comparison, rows: Sequence[Record]) -> Iterator[Record]:
    """Where runs have failed: the score with these counted."""
    for row in rows:
        if row["run_set"].failed:
            yield _again(comparison, row, RunSet.with_failed)


OWN: list[Column] = [
    Column("Mean", "mean", number, style="mark", note="of the scores of the n seeds."),
    Column("Std", "std", number, note="sample standard deviation, divided by n − 1."),
    Column("Median", "median", number, note="of the same scores."),
    Column("IQM", "iqm", number, shown=False),
    Column("Scores", "scores", shown=False),
]


def _record(comparison: Comparison, row: Record) -> Record:
    run_set, versus = row["run_set"], row["versus"]
    scores, numbers = run_set.scores, [*filter(None, row["published"].values())]
    success, low, high = _success(comparison, run_set)
    return {
        **cell_record(comparison, row["group"], run_set), **reference_record(row["reference"]),
        "mark": mark(versus, row["p"]), "mean": estimates.mean(scores), "std": run_set.score_std,
        "median": estimates.median(scores), "iqm": estimates.iqm(scores),
        "scores": " ".join(repr(float(score)) for score in scores),
        "success": success, "success_low": low, "success_high": high,
        "learning_timesteps": learning_steps(run_set), "improvement_pct": versus.get("improvement", math.nan),
        "p_holm": row["p"], "published_env": row["group"].env_published,
        **{f"published_{name}": found.value if found else math.nan for name, found in row["published"].items()},
        "published_steps": next((n.steps for n in numbers if n.steps), math.nan),
        "published_seeds": next((n.seeds for n in numbers if n.seeds), None),
    }  # fmt: skip


def _wilson(comparison: Comparison) -> list[Column]:
    """The interval of a share of successful episodes; no column for other metrics."""
    note = "share of all final episodes of the n runs, with Wilson's 95 % interval."
    column: Column = Column("Episodes", "success success_low success_high", with_interval, note=note)
    return [column] if comparison.metric in SUCCESSES else []


def _success(comparison: Comparison, run_set: RunSet) -> tuple[float, float, float]:
    """The share of successful episodes, with its interval; NaN for other metrics."""
    of = SUCCESSES.get(comparison.metric)
    episodes = [value for run in run_set.done for value in getattr(run.evaluations, of)] if of else []
    share = sum(episodes) / len(episodes) if episodes else math.nan
    low, high = share_interval(round(sum(episodes)) if episodes else 0, len(episodes)) if of else (math.nan, math.nan)
    return share, low, high


def _steps(rows: Sequence[Record]) -> Column:
    return Column(
        "Steps learnt from", "learning_timesteps", steps,
        shown=any(row["run_set"].has_fitness_steps for row in rows),
        note="training steps, which the budget counts, and fitness steps, which it does not; mean over runs. The row "
        "'fitness steps counted' has the score of the last evaluation before both together filled the budget; it is "
        "not tested.",
    )  # fmt: skip


def _against(comparison: Comparison, rows: Sequence[Record]) -> list[Column]:
    base, tests = label(comparison), sum(not math.isnan(row["p"]) for row in rows)
    shown = any(row["versus"] for row in rows)
    return [
        Column(f"vs {base}", "improvement_pct", percent, shown=shown,
               note=f"difference of the means in percent of the magnitude of {base}'s mean in the same environment."),
        Column("p", "p_holm", p_value, shown=shown, note=_test(comparison, tests)),
    ]  # fmt: skip


def _test(comparison: Comparison, tests: int) -> str:
    """What the column of p-values is."""
    if not tests:
        return f"no difference can be tested: that takes at least {FEWEST_RUNS} seeds per side."
    return (
        f"of the ranks against {label(comparison)}, after Holm's correction for the tests of the table ({tests} in "
        f"all); bold: decided to score higher (p at most {level_words()}, on the side with fewer seeds, and means that "
        f"differ by {100 * MARGIN:g} % or more), italic: lower, –: cannot be tested. No mark is no sign that two are "
        "equal."
    )


def _paper(comparison: Comparison) -> list[Column]:
    shown = comparison.published
    return [
        Column("Published environment", "published_env", shown=False),
        Column("Published", "published_mean published_std", exact_plus_minus, shown=shown),
        Column("Published median", "published_median", exact, shown=shown),
        Column("Published after", "published_steps", steps, unit="steps", shown=shown),
        Column("Published seeds", "published_seeds", shown=False),
    ]


def _of_episodes(comparison: Comparison) -> str:
    """What the final evaluation's return is the mean of; other scores are of many evaluations."""
    if not comparison.by_final:
        return ""
    counts = episode_counts(comparison.runs)
    of = f" of {' or '.join(counts)} episodes" if counts else ""
    return f" (mean{of}, deterministic policy)"


def _score_notes(comparison: Comparison) -> Iterator[str]:
    words = "Return" if _on_the_way(comparison) else comparison.score_words
    yield f"{words}{_of_episodes(comparison)} after {comparison.budget}."
    yield from _nominal_note(comparison)
    yield from _own_budgets(comparison)
    cells = [(f"{run_set.label} on {group.env}", run_set.done) for group in comparison.groups
             for run_set in group.run_sets]  # fmt: skip
    yield from mixed_kernels((name, [run.machine for run in runs]) for name, runs in cells)
    yield from mixed_identities(cells)
    yield from repeated_seeds(cells)
    yield from not_repeatable(cells)
    yield from several_draws(cells)
    if comparison.by_final:
        yield from unequal_episodes(cells)
    yield from departure_notes(comparison.run_sets)
    yield from _borrowed_scores(comparison)
    if comparison.by_time:
        yield from machine_notes(comparison.runs)
    if comparison.profile:
        yield f"Profile: {comparison.profile}."


def _borrowed_scores(comparison: Comparison) -> Iterator[str]:
    """Failed runs that have no score of their own, which a row counts all the same."""
    found = []
    for run_set in comparison.run_sets:
        seeds = [str(run.seed) for run in run_set.failed if not len(run.evaluations)]
        if seeds and any(len(run.evaluations) for run in run_set.runs):
            found.append(f"{run_set.label} on {run_set.env}, seed {', '.join(seeds)}")
    if found:
        yield (
            "Failed before an evaluation, so counted in the row of failed runs by the score of another run before "
            f"training: {'; '.join(found)}."
        )


def _nominal_note(comparison: Comparison) -> Iterator[str]:
    """What the budget is of entries whose generations count as one episode each."""
    nominal = [run_set for run_set in comparison.run_sets if run_set.nominal]
    if not nominal:
        return
    reached = [run.timesteps for run_set in nominal for run in run_set.done]
    yield (
        f"{' and '.join(dict.fromkeys(run_set.label for run_set in nominal))}: that budget is counted as in the "
        "paper, a generation as one episode of full length, however many it plays"
        + (f"; they took {min(reached):,} to {max(reached):,} training steps." if reached else ".")
    )


def _own_budgets(comparison: Comparison) -> Iterator[str]:
    """The budgets of entries that have others than their group."""
    for name in dict.fromkeys(run_set.label for run_set in comparison.run_sets if run_set.own_timesteps):
        own = [run_set for run_set in comparison.run_sets if run_set.label == name and run_set.own_timesteps]
        budgets = ", ".join(f"{run_set.own_timesteps:,} on {run_set.env}" for run_set in own)
        yield f"{name} has budgets of its own: {budgets}."


def _test_notes(comparison: Comparison, rows: Sequence[Record]) -> Iterator[str]:
    if not label(comparison):
        return
    if not any(row["versus"] for row in rows):
        yield f"Nothing is compared with {label(comparison)}: that takes finished runs of it and of another entry."
    if any(row["versus"].get("failed") for row in rows):
        yield (
            "A mean has no mark while runs of it or of its baseline have failed: those that are left are a selection. "
            "The row that is named so counts the failed ones, by their last or their initial score."
        )


def _published_notes(comparison: Comparison, rows: Sequence[Record]) -> Iterator[str]:
    by_budget: dict[int, list[Number]] = {}
    for row in rows:
        ours = row["run_set"].own_timesteps or row["group"].total_timesteps
        by_budget.setdefault(ours, []).extend(filter(None, row["published"].values()))
    numbers = [found for here in by_budget.values() for found in here]
    if not numbers:
        yield f"{comparison.source} has no numbers for these environments."
        return
    seeds = " or ".join(str(value) for value in sorted({found.seeds for found in numbers if found.seeds}))
    yield (
        f"Published: {comparison.source}, {comparison.table}, {_statistic(comparison)}"
        + (f" over {seeds} runs" if seeds else "")
        + ", on "
        + ", ".join(sorted({found.env for found in numbers}))
        + "."
    )
    for ours in sorted(by_budget):
        if note := budget_note(ours, ((found.algorithm, found.steps) for found in by_budget[ours] if found.steps)):
            yield note
    yield from environment_notes(comparison.groups)
    for text in sorted({found.remark for found in numbers if found.note}):
        labels = dict.fromkeys(found.algorithm for found in numbers if found.remark == text)
        envs = dict.fromkeys(found.env for found in numbers if found.remark == text)
        yield f"Published {', '.join(labels)} on {', '.join(envs)}: {text}."


def _statistic(comparison: Comparison) -> str:
    return "mean ± standard deviation" if comparison.statistic == "mean" else comparison.statistic.replace("_", " ")


def _find(published: Published, comparison: Comparison, group: Group, run_set: RunSet, statistic: str) -> Number | None:
    statistic = comparison.statistic if statistic == "mean" else statistic
    return published.find(comparison.source, comparison.table, group.env_published, run_set.published, statistic)


def _reference(comparison: Comparison, published: Published, group: Group, run_set: RunSet) -> Record | None:
    """The first source's runs; none beside other scores than returns at a step, and nobody knows their minutes."""
    if comparison.by_time or run_set.metric not in (FINAL, CURVE):
        return None
    return next(beside(group, run_set, published.references), None)
