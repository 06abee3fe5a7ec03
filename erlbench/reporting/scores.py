"""The tables of scores: final performance beside the published numbers, other metrics, and all environments at once."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from erlbench.reporting import statistics
from erlbench.reporting.baseline import FEWEST_RUNS, LEVEL, Compared, against_baseline, label
from erlbench.reporting.comparability import budget_note, environment_notes
from erlbench.reporting.comparison import Cell, Comparison, Group
from erlbench.reporting.metrics import area, final_10, max_of_average
from erlbench.reporting.published import Number, Published
from erlbench.reporting.runs import Array
from erlbench.reporting.tables import NONE, Styled, Table, Value, exact, number, p_value, percent, plus_minus, steps


def scores_table(comparison: Comparison, published: Published) -> Table:
    """Mean, standard deviation, median of the final evaluation, against baseline and paper."""
    compared, base = against_baseline(comparison), label(comparison)
    rows: list[tuple[Value, ...]] = []
    records = []
    with_published = comparison.published
    for group in comparison.groups:
        for cell in group.cells:
            scores, versus = cell.scores, compared[group.env, group.total_timesteps, cell.name, cell.exists]
            mean, std, median = statistics.mean(scores), statistics.std(scores), statistics.median(scores)
            paper = [_find(published, comparison, group, cell, name) for name in ("mean", "std", "median")]
            shown: Value = number(mean)
            if versus.significant:
                shown = Styled(number(mean), "bold" if versus.better else "italic")
            row: list[Value] = [comparison.group_name(group), cell.label, cell.used, shown, number(std), number(median)]
            if base:
                row += [percent(versus.improvement), p_value(versus.p)]
            if with_published:
                row += [_published(paper), exact(_value(paper[2])), _after(paper)]
            rows.append((*row, cell.status))
            records.append({
                **identity(group, cell), "mean": mean, "std": std, "median": median, "iqm": statistics.iqm(scores),
                "improvement_pct": versus.improvement, "p_holm": versus.p,
                "scores": " ".join(repr(float(score)) for score in scores),
                "published_env": group.env_published, "published_mean": _value(paper[0]),
                "published_std": _value(paper[1]), "published_median": _value(paper[2]),
                "published_steps": next((value.steps for value in paper if value), None),
                "published_seeds": next((value.seeds for value in paper if value), None), "status": cell.status,
            })  # fmt: skip
    columns = ["Environment", "Algorithm", "n", "Mean", "Std", "Median"]
    columns += [f"vs {base}", "p"] if base else []
    columns += ["Published", "Median", "after"] if with_published else []
    notes = [*_score_notes(comparison), *_test_notes(comparison, compared)]
    if with_published:
        notes += _published_notes(comparison, published)
    return Table("scores", comparison.heading("final return"), (*columns, "Status"), tuple(rows), tuple(notes),
                 tuple(records))  # fmt: skip


def metrics_table(comparison: Comparison) -> Table:
    """The other metrics of the same runs."""
    rows, records = [], []
    for group in comparison.groups:
        for cell in (cell for cell in group.cells if cell.exists):
            evaluations = [run.evaluations for run in cell.done]
            values = {
                "final": cell.scores,
                "final_10": np.array([final_10(e) for e in evaluations]),
                "area": np.array([area(e) for e in evaluations]),
            }
            best = max_of_average(cell.done)
            extra = np.array([e.fitness_timesteps[-1] for e in evaluations], dtype=np.float64)
            shown = {name: plus_minus(statistics.mean(v), statistics.std(v)) for name, v in values.items()}
            rows.append((
                comparison.group_name(group), cell.label, cell.used, shown["final"], shown["final_10"],
                number(best), shown["area"], steps(_mean_or_nan(extra)) if not np.isnan(extra).all() else NONE,
            ))  # fmt: skip
            record = identity(group, cell)
            for name, v in values.items():
                record |= {f"{name}_mean": statistics.mean(v), f"{name}_std": statistics.std(v)}
            records.append({**record, "max_of_average": best, "fitness_timesteps_mean": _mean_or_nan(extra)})
    columns = (
        "Environment", "Algorithm", "n", "Final", "Final-10", "Max of average", "Area under curve", "Fitness steps",
    )  # fmt: skip
    notes = (
        "Mean ± sample standard deviation over the n finished runs of n planned.",
        "Final: the last evaluation. Final-10: mean of the last ten evaluations (– with fewer than ten). Max of "
        "average: highest point of the average over runs. Area under curve: mean return over the training steps "
        "(trapezoids). Fitness steps: steps that the learning spent on the mean's own episodes besides the training "
        "steps that the budget counts.",
    )
    return Table("metrics", comparison.heading("other metrics"), columns, tuple(rows), notes, tuple(records))


def _score_notes(comparison: Comparison) -> Iterator[str]:
    episodes = sorted({run.eval_episodes for run in comparison.runs if run.eval_episodes}, key=lambda n: (len(n), n))
    of = f" of {' or '.join(episodes)} episodes" if episodes else ""
    yield (
        f"Return of the final evaluation (mean{of}, deterministic policy) after {comparison.budget}; mean, sample "
        "standard deviation and median over the n finished runs of n planned; runs that are not finished do not count."
    )
    yield from _nominal_note(comparison)
    if comparison.profile:
        yield f"Profile: {comparison.profile}."


def _nominal_note(comparison: Comparison) -> Iterator[str]:
    """What the budget is of entries whose generations count as one episode each."""
    nominal = [cell for cell in comparison.cells if cell.nominal]
    if not nominal:
        return
    reached = [run.timesteps for cell in nominal for run in cell.done]
    yield (
        f"{' and '.join(dict.fromkeys(cell.label for cell in nominal))}: that budget is counted as in the paper, a "
        "generation as one episode of full length, however many it plays"
        + (f"; they took {min(reached):,} to {max(reached):,} training steps." if reached else ".")
    )


def _test_notes(comparison: Comparison, compared: dict[tuple[str, int, str, bool], Compared]) -> Iterator[str]:
    if not comparison.baseline:
        return
    tests = sum(not math.isnan(versus.p) for versus in compared.values())
    base = label(comparison)
    yield f"vs {base}: difference of the means in percent of the magnitude of {base}'s mean in the same environment."
    if tests:
        yield (
            f"p: Welch's t-test against {base}, two-sided, after Holm's correction for the table's {tests} "
            f"comparison{'s' if tests > 1 else ''} of at least {FEWEST_RUNS} runs a side; bold: significantly better "
            f"at {LEVEL}, italic: significantly worse, –: cannot be tested."
        )
    else:
        yield f"No difference can be tested: that takes at least {FEWEST_RUNS} finished runs on both sides."


def _published_notes(comparison: Comparison, published: Published) -> Iterator[str]:
    by_budget: dict[int, list[Number]] = {}
    for group in comparison.groups:
        by_budget.setdefault(group.total_timesteps, []).extend(
            found for cell in group.cells for name in ("mean", "std", "median")
            if (found := _find(published, comparison, group, cell, name))
        )  # fmt: skip
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
    for text in sorted({found.note for found in numbers if found.note}):
        labels = dict.fromkeys(found.algorithm for found in numbers if found.note == text)
        envs = dict.fromkeys(found.env for found in numbers if found.note == text)
        yield f"Published {', '.join(labels)} on {', '.join(envs)}: {text}."


def _statistic(comparison: Comparison) -> str:
    return "mean ± standard deviation" if comparison.statistic == "mean" else comparison.statistic.replace("_", " ")


def _find(published: Published, comparison: Comparison, group: Group, cell: Cell, statistic: str) -> Number | None:
    statistic = comparison.statistic if statistic == "mean" else statistic
    return published.find(comparison.source, comparison.table, group.env_published, cell.published, statistic)


def identity(group: Group, cell: Cell) -> dict[str, object]:
    """The columns that every record of a cell begins with."""
    return {
        "env": group.env,
        "total_timesteps": group.total_timesteps,
        "name": cell.name if cell.exists else "",
        "algorithm": cell.label,
        "n": len(cell.done),
        "planned": cell.planned,
    }


def _value(found: Number | None) -> float:
    return found.value if found else float("nan")


def _published(found: list[Number | None]) -> str:
    mean, std = exact(_value(found[0])), exact(_value(found[1]))
    return mean if NONE in (mean, std) else f"{mean} ± {std}"


def _after(found: list[Number | None]) -> str:
    return next((steps(value.steps) for value in found if value and value.steps), NONE)


def _mean_or_nan(values: Array) -> float:
    return statistics.mean(values[~np.isnan(values)])
