"""The table of scores: final performance beside the baseline, the published numbers and other people's runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from erlbench.reporting.data.caveats import learning_steps
from erlbench.reporting.data.identities import (
    departure_notes,
    episode_counts,
    identity_remarks,
    mixed_kernels,
    unequal_episodes,
)
from erlbench.reporting.data.page_cells import PageCells, has_fitness_steps, scores_at_equal_steps, scores_with_failed
from erlbench.reporting.data.published import Published
from erlbench.reporting.data.score import CURVE, FINAL, SUCCESS, SUCCESS_EVER
from erlbench.reporting.documents.formats import exact, exact_plus_minus, number, p_value, percent, steps, with_interval
from erlbench.reporting.documents.model import Column, Record, Table
from erlbench.reporting.statistics.estimates import FEWEST_RUNS, improvement, iqm, mean, median, share_interval
from erlbench.reporting.statistics.significance import MARGIN, level_words
from erlbench.reporting.tables.columns import IDENTITY, STATUS, N, cell_record, has_values, updates
from erlbench.reporting.tables.published_notes import published_notes
from erlbench.reporting.tables.references import match_references, reference_columns, reference_record
from erlbench.reporting.tables.times import machine_notes
from erlbench.reporting.verdict.pairs import compare_with_baseline, mark

SUCCESSES = {SUCCESS: "last_success", SUCCESS_EVER: "last_success_ever"}  # columns of single episodes
STATISTICS = ("mean", "std", "median")  # of published numbers


def scores_table(page: PageCells, published: Published) -> Table:
    """Mean, standard deviation, median of the scores, against baseline and paper."""
    pairs = compare_with_baseline(page)
    versus = dict(pairs.iterrows())
    numbers = {cell.Index: _find_numbers(page, published, cell) for cell in page.rows}
    references = {cell.Index: _first_reference(page, published, cell) for cell in page.rows}
    rows = [
        {**cell_record(cell), **_own_record(page, cell), **_versus_record(versus.get((cell.group, cell.name))),
         **reference_record(references[cell.Index]), **_published_record(cell, numbers[cell.Index])}
        for cell in page.rows
    ]  # fmt: skip
    failed = any(pair["first"].failed or pair["second"].failed for pair in versus.values())
    remarks = [*_score_notes(page), *_baseline_notes(page, bool(versus), failed)]
    if page.published:
        remarks += published_notes(page, [(cell, list(numbers[cell.Index].values())) for cell in page.rows])
    title = "return" if _is_cut_final(page) else page.score_title
    columns = _columns(page, rows, bool(versus), [*filter(None, references.values())])
    return Table("scores", page.heading(title), columns, rows, [*remarks, *page.notes])


def _columns(page: PageCells, rows: Sequence[Record], compared: bool, references: Sequence[Record]) -> list[Column]:
    tests = sum(not math.isnan(row["p_holm"]) for row in rows)
    episodes = "share of all final episodes of the n runs, with Wilson's 95 % interval."
    return [
        *IDENTITY, N,
        Column("Mean", "mean", number, style="mark", note="of the scores of the n seeds."),
        Column("Std", "std", number, note="sample standard deviation, divided by n − 1."),
        Column("Median", "median", number, note="of the same scores."),
        Column("IQM", "iqm", number, shown=False),
        Column("Scores", "scores", shown=False),
        *([Column("Episodes", "success success_low success_high", with_interval, note=episodes)]
          if page.metric in SUCCESSES else []),
        Column("Steps learnt from", "learning_timesteps", steps,
               shown=any(map(has_fitness_steps, page.rows)),
               note="training steps, which the budget counts, and fitness steps, which it does not; mean over runs."),
        Column("Mean at equal steps", "mean_at_equal_steps", number, shown=has_values(rows, "mean_at_equal_steps"),
               note="of the last evaluations before training and fitness steps together filled the budget; it is not "
               "tested."),
        Column("Mean with failed", "mean_with_failed", number, shown=has_values(rows, "mean_with_failed"),
               note="with the failed runs, by their last or their initial final-evaluation score; it is not tested."),
        Column(f"vs {page.base_label}", "improvement_pct", percent, shown=compared,
               note=f"difference of the means in percent of the magnitude of {page.base_label}'s mean in the same "
               "environment."),
        Column("p", "p_holm", p_value, shown=compared, note=_describe_p(page, tests)),
        Column("Published environment", "published_env", shown=False),
        Column("Published", "published_mean published_std", exact_plus_minus, shown=page.published),
        Column("Published median", "published_median", exact, shown=page.published),
        Column("Published after", "published_steps", steps, unit="steps", shown=page.published),
        Column("Published seeds", "published_seeds", shown=False),
        *reference_columns(references), updates(rows), STATUS,
    ]  # fmt: skip


def _is_cut_final(page: PageCells) -> bool:
    """Whether scores are of evaluations that need not be the final ones."""
    return page.at is not None and page.by_final


def _own_record(page: PageCells, cell: Any) -> Record:
    scores, budget = cell.scores, cell.own_timesteps or cell.total_timesteps
    again = page.baseline or not page.study
    equal = again and cell.total_timesteps and not cell.nominal and has_fitness_steps(cell)
    success, low, high = _success(page, cell)
    return {
        "mean": mean(scores), "std": cell.std, "median": median(scores), "iqm": iqm(scores),
        "scores": " ".join(repr(float(score)) for score in scores),
        "mean_at_equal_steps": mean(scores_at_equal_steps(cell, budget)) if equal else math.nan,
        "mean_with_failed": mean(scores_with_failed(cell)) if again and cell.failed else math.nan,
        "success": success, "success_low": low, "success_high": high, "learning_timesteps": learning_steps(cell),
    }  # fmt: skip


def _success(page: PageCells, cell: Any) -> tuple[float, float, float]:
    """The share of successful episodes, with its interval; NaN for other metrics."""
    column = SUCCESSES.get(page.metric)
    episodes = [value for run in cell.done for value in getattr(run, column)] if column else []
    if not episodes:
        return math.nan, math.nan, math.nan
    return sum(episodes) / len(episodes), *share_interval(round(sum(episodes)), len(episodes))


def _versus_record(pair: Any) -> Record:
    """Against the baseline; `pair` is None where one of both has no score."""
    if pair is None:
        return {"improvement_pct": math.nan, "p_holm": math.nan, "mark": ""}
    means = (mean(pair[side].scores) for side in ("first", "second"))
    return {"improvement_pct": improvement(*means), "p_holm": pair["p_holm"], "mark": mark(pair)}


def _find_numbers(page: PageCells, published: Published, cell: Any) -> dict[str, Any]:
    """The published numbers of a cell by the name of their statistic, as far as there are some."""
    numbers = {}
    for name in STATISTICS:
        statistic = page.statistic if name == "mean" else name
        found = published.find(page.source, page.table, cell.env_published, cell.published, statistic)
        if found is not None:
            numbers[name] = found
    return numbers


def _published_record(cell: Any, numbers: dict[str, Any]) -> Record:
    values = {f"published_{name}": numbers[name].value if name in numbers else math.nan for name in STATISTICS}
    return {
        **values, "published_env": cell.env_published,
        "published_steps": next((one.steps for one in numbers.values() if one.steps), math.nan),
        "published_seeds": next((one.seeds for one in numbers.values() if one.seeds), None),
    }  # fmt: skip


def _first_reference(page: PageCells, published: Published, cell: Any) -> Record | None:
    """The first source's runs; none beside other scores than returns at a step, and nobody knows their minutes."""
    if page.by_time or cell.metric not in (FINAL, CURVE):
        return None
    return next(match_references(cell, published), None)


def _describe_p(page: PageCells, tests: int) -> str:
    """What the column of p-values is."""
    if not tests:
        return f"no difference can be tested: that takes at least {FEWEST_RUNS} seeds per side."
    return (
        f"of the ranks against {page.base_label}, after Holm's correction for the tests of the table ({tests} in "
        f"all); bold: decided to score higher (p at most {level_words()}, on the side with fewer seeds, and means that "
        f"differ by {100 * MARGIN:g} % or more), italic: lower, –: cannot be tested. No mark is no sign that two are "
        "equal."
    )


def _score_notes(page: PageCells) -> Iterator[str]:
    words, episodes = "Return" if _is_cut_final(page) else page.score_words, ""
    if page.by_final:  # other scores are of many evaluations
        counts = episode_counts(page.runs)
        of = f" of {' or '.join(counts)} episodes" if counts else ""
        episodes = f" (mean{of}, deterministic policy)"
    yield f"{words}{episodes} after {page.budget}."
    yield from _nominal_note(page)
    for label in dict.fromkeys(page.cells.label[page.cells.own_timesteps > 0]):
        own = [cell for cell in page.rows if cell.label == label and cell.own_timesteps]
        yield f"{label} has budgets of its own: {', '.join(f'{cell.own_timesteps:,} on {cell.env}' for cell in own)}."
    cells = [(f"{cell.label} on {cell.env}", cell.done) for cell in page.rows]
    yield from mixed_kernels(cells)
    yield from identity_remarks(cells)
    if page.by_final:
        yield from unequal_episodes(cells)
    yield from departure_notes(page.rows)
    borrowed = [
        f"{cell.label} on {cell.env}, seed {', '.join(seeds)}" for cell in page.rows
        if (seeds := [str(run.seed) for run in cell.failed if not len(run.evaluations)])
        and any(len(run.evaluations) for run in cell.runs)
    ]  # fmt: skip
    if borrowed:
        yield (
            "Failed before an evaluation, so counted in the mean with failed runs by the score of another run before "
            f"training: {'; '.join(borrowed)}."
        )
    if page.by_time:
        yield from machine_notes(page.runs)
    if page.profile:
        yield f"Profile: {page.profile}."


def _nominal_note(page: PageCells) -> Iterator[str]:
    """What the budget is of entries whose generations count as one episode each."""
    nominal = [cell for cell in page.rows if cell.nominal]
    if not nominal:
        return
    reached = [run.timesteps for cell in nominal for run in cell.done]
    yield (
        f"{' and '.join(dict.fromkeys(cell.label for cell in nominal))}: that budget is counted as in the "
        "paper, a generation as one episode of full length, however many it plays"
        + (f"; they took {min(reached):,} to {max(reached):,} training steps." if reached else ".")
    )


def _baseline_notes(page: PageCells, compared: bool, failed: bool) -> Iterator[str]:
    if page.base_label and not compared:
        yield f"Nothing is compared with {page.base_label}: that takes finished runs of it and of another entry."
    if failed:
        yield (
            "A mean has no mark while runs of it or of its baseline have failed: those that are left are a selection."
        )
