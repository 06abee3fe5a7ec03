"""The comparisons of a page: each algorithm with the baseline, or each with each, a row for each pair; their tables."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from erlbench.experiment.fairness import overridden
from erlbench.records.older import ALGORITHMS, DEFAULT_PRESET
from erlbench.records.run import EVALUATIONS, TRAINING
from erlbench.reporting.cells import list_rows, same_setting
from erlbench.reporting.documents import Record, Table, build_table
from erlbench.reporting.formats import steps
from erlbench.reporting.page_cells import UNRECORDED, PageCells, find_cell, has_fitness_steps, scores_at_equal_steps
from erlbench.reporting.published import find_origin
from erlbench.reporting.runs import run_tables
from erlbench.reporting.score import TIMESTEPS
from erlbench.reporting.significance import (
    MARGIN,
    POWER,
    Case,
    compare,
    holm,
    judge,
    level_words,
    rank_tests,
    seeds_for_tests,
)
from erlbench.reporting.statistics import (
    FEWEST_RUNS,
    NO_INTERVAL,
    Array,
    bootstrap_interval,
    ends,
    iqm,
    iqm_over_environments,
    mean,
    median,
    probability_of_improvement,
    std,
    superiority_interval,
)
from erlbench.settings import setting_text
from erlbench.words import counted

MOST_CELLS = 6  # of an environment whose pairs are all shown; of more, the pairs of the best one
SIMILAR = 1.1  # times the simulator steps of the other side: a remark follows


def compare_pairs(page: PageCells) -> pd.DataFrame:
    """The `pairs` of a page with scores on both sides, else those with the baseline, else all.

    None are chosen for studies with published numbers and no baseline. Of more than `MOST_CELLS` in an environment all
    are tested, as the data say which one is best, and the pairs of the best one are shown. A row has `group` (its
    number on the page), names, `first` and `second` (`make_sample`), the values of `decide`, and for readers: `reason`
    (why they are not comparable), `equal_steps` (mean scores where both have used as many simulator steps, or None),
    `unequal` settings, and whether both have their `defaults`.
    """
    pairs = [
        (group, first, second, shown)
        for group in page.groups
        for first, second, shown in _choose_pairs(page, group)
        if len(first.scores) or len(second.scores)
    ]
    origins = {group.group: find_origin(group.env, group.cells, page.metric) for group in page.groups}
    outcomes = decide(
        [
            (first.scores, second.scores, origins[group.group], next(_find_reasons(group, first, second), ""))
            for group, first, second, _ in pairs
        ]
    )
    rows, samples = [], {cell.Index: make_sample(cell) for cell in page.rows}
    for (group, first, second, shown), outcome in zip(pairs, outcomes):
        a, b = first.done[0], second.done[0]
        values = {name: (value, b.settings[name]) for name, value in a.settings.items() if name in b.settings}
        unequal = {name: both for name, both in values.items() if not same_setting(*both)}
        rows += [{
            "group": group.group, "env": group.env, "budget": group.limit,
            "axis": first.stretch.axis if first.stretch else TIMESTEPS, "score": first.score_words, "name": first.name,
            "name_against": second.name, "first": samples[first.Index], "second": samples[second.Index],
            "defaults": all(map(_has_defaults, (a, b))),
            "unequal": {name: tuple(map(setting_text, both)) for name, both in unequal.items()},
            "equal_steps": None if outcome["reason"] else _average_at_equal_steps(group, first, second), **outcome,
        }] * shown  # fmt: skip
    frame = pd.DataFrame(rows)
    if rows:  # None: more seeds than can be counted
        frame["seeds_missing"] = pd.Series([row.get("seeds_missing") for row in rows], dtype=object)
    return frame


def decide(pairs: Sequence[tuple[Array, Array, float, str]]) -> list[Record]:
    """The values of `compare` and `judge` for each pair, corrected for all `tests`.

    A pair has the scores of both sides, one a seed, the score of a random policy, and a reason why they are not
    comparable, or an empty text. Those that are not comparable are not tested.
    """
    p_ranks = rank_tests([(x[:0], y[:0]) if reason else (x, y) for x, y, _, reason in pairs]).tolist()
    compared = [compare(x, y, p_rank) for (x, y, *_), p_rank in zip(pairs, p_ranks)]
    p_values = holm(*([comparison[name] for comparison in compared] for name in ("p_rank", "level")))
    tests = int(np.isfinite(p_values).sum())
    rows = []
    for (x, y, origin, reason), comparison, p in zip(pairs, compared, p_values):
        ruled = {"case": Case.NOT_COMPARABLE, "p_holm": p, "detectable_difference": math.nan, "decidable": False}
        if not reason:
            ruled = judge(x, y, comparison, p=float(p), tests=tests, origin=origin)
        rows.append({**comparison, **ruled, "tests": tests, "origin": origin, "reason": reason})
    return rows


def _find_reasons(group: Any, first: Any, second: Any) -> Iterator[str]:
    """Why the scores are no samples of the algorithms; none where they are."""
    sides = first, second
    reasons = selection_reason(sides), *map(unscored_reason, sides), size_reason(side.scores for side in sides)
    yield from filter(None, reasons)
    if (first.metric, first.stretch) != (second.metric, second.stretch):
        yield "their scores are of different evaluations"
    if group.limit == UNRECORDED:
        ends_at = [mean(ends(side.done, "timesteps")) for side in sides]
        if max(ends_at) > SIMILAR * min(ends_at):
            after = " and ".join(map(steps, ends_at))
            yield f"their files have no budget, and they end after {after} training steps"


def selection_reason(sides: Sequence[Any]) -> str:
    """Why the finished runs of one side are a selection, or of another kind than the other side's; else empty."""
    for side in sides:
        if side.failed:
            runs = f"{len(side.failed)} of {len(side.runs)} runs of {side.label} failed"
            return f"{runs}, so those that are left are a selection"
    kinds = {run.imported.returns if run.imported else EVALUATIONS for side in sides for run in side.done}
    if TRAINING in kinds and len(kinds) > 1:
        return f"scores of one are returns of {TRAINING}, those of the other are not"
    return ""


def unscored_reason(side: Any) -> str:
    """How many seeds have no score of this kind, such as a mean of ten evaluations; else empty."""
    unknown = len(side.seeds) - len(side.scores)
    return f"{unknown} of {counted(len(side.seeds), 'seed')} of {side.label} have no such score" if unknown else ""


def size_reason(scores: Iterable[Array]) -> str:
    """Whether scores are too large for a computer's numbers; else empty."""
    fit = all(math.isfinite(mean(values)) and not math.isinf(std(values)) for values in scores if len(values))
    return "" if fit else "the scores are too large for a mean and a spread"


def _choose_pairs(page: PageCells, group: Any) -> Iterator[tuple[Any, Any, bool]]:
    """The pairs of a group, and whether each is shown."""
    cells, names = {cell.name: cell for cell in group.cells if cell.judged and cell.done}, page.pairs
    if names is None and find_cell(group, page.baseline) is not None:
        names = [(name, page.baseline) for name in cells if name != page.baseline]
    if names is not None:
        yield from ((cells[name], cells[other], True) for name, other in names if name in cells and other in cells)
    elif not page.source:  # a study with published numbers compares with these
        best = None
        if len(cells) > MOST_CELLS:  # the highest mean, where possible of those that can be tested
            scored = [cell for cell in cells.values() if len(cell.scores)]
            tested = [cell for cell in scored if len(cell.scores) >= FEWEST_RUNS]
            best = max(tested if len(tested) > 1 else scored, key=lambda cell: mean(cell.scores), default=None)
        for first, second in itertools.combinations(cells.values(), 2):
            if second is best:
                first, second = second, first
            yield first, second, best is None or first is best


def mark(case: Case, difference: float) -> str:
    """The style of a mean: "bold" where the rule decides for it, "italic" where against it."""
    return "" if case != Case.DECIDED else "bold" if difference > 0 else "italic"


def make_sample(cell: Any, scores: Any = None) -> SimpleNamespace:
    """One side of a comparison: scores, one a seed; the seeds with a finished run; how many runs failed.

    Steps are means over runs: of training, and of the simulator with those that measure the mean for learning. Minutes
    of training are medians over runs, by the clock and in simulated time; NaN without one.
    """
    runs, minutes = cell.done, [(run.simulated_time, run.timed, run.seconds / 60) for run in cell.done]
    return SimpleNamespace(
        name=cell.label,
        scores=tuple(float(score) for score in (cell.scores if scores is None else scores)),
        seeds=cell.seeds,
        runs=tuple("/".join(run.path.parts[-4:]) for run in runs),
        failed=len(cell.failed),
        training_steps=mean(ends(runs, "timesteps")),
        simulator_steps=cell.learning_timesteps,
        measured_minutes=median([value for modelled, timed, value in minutes if timed and not modelled]),
        modelled_minutes=median([value for modelled, _, value in minutes if modelled]),
    )


def _has_defaults(run: Any) -> bool:
    """Whether a run is of one of the suite's algorithms with all of its defaults."""
    of_suite = run.algo in ALGORITHMS and run.run_config.get("preset") in (None, "", DEFAULT_PRESET)
    return of_suite and bool(run.settings) and not overridden(run_tables(run))


def _average_at_equal_steps(group: Any, first: Any, second: Any) -> tuple[float, float] | None:
    """The mean scores after the budget's number of simulator steps; None where both sides used about as many."""
    sides, budget = (first, second), group.total_timesteps
    used, with_fitness = [side.learning_timesteps for side in sides], [*map(has_fitness_steps, sides)]
    if not (budget and any(with_fitness) and np.isfinite(used).all() and max(used) > SIMILAR * min(used)):
        return None
    first_mean, second_mean = (
        mean(scores_at_equal_steps(side, budget) if measured else side.scores)
        for side, measured in zip(sides, with_fitness)
    )
    return first_mean, second_mean


WORDS = (
    "each scaled so that 0 is a random policy (random_scores.csv, else runs before training) or no "
    "success, and 1 the best mean"
)
Scores = Mapping[str, Sequence[Array]]  # of entries, an array (seeds,) per environment
Origins = Mapping[str, float]  # of environments, the score of a random policy
BETTER = ("probability_of_improvement", "probability_low", "probability_high")
IQM = ("iqm", "iqm_low", "iqm_high")


def pooled_scores(page: PageCells) -> tuple[Scores, Origins]:
    """The scores in all environments of the baseline, of the entries that have one in each, and the origins there."""
    scores_by_env = {group.env: {cell.name: cell.scores for cell in group.cells} for group in page.groups}
    scores_by_env = {env: scores for env, scores in scores_by_env.items() if len(scores.get(page.baseline, ()))}
    names = [
        name
        for name in next(iter(scores_by_env.values()), {})
        if all(len(env_scores.get(name, ())) for env_scores in scores_by_env.values())
    ]
    groups = [group for group in page.groups if group.env in scores_by_env]
    origins = {group.env: find_origin(group.env, group.cells, page.metric) for group in groups}
    return {name: [env_scores[name] for env_scores in scores_by_env.values()] for name in names}, origins


def normalise(scores: Scores, origins: Origins) -> dict[str, list[Array]]:
    """Scores that can be pooled over environments: 0 is a random policy, 1 the best mean of those compared."""
    scales = [*zip(origins.values(), _best_means(scores), strict=True)]
    return {
        name: [(values - zero) / (best - zero) for values, (zero, best) in zip(env_scores, scales)]
        for name, env_scores in scores.items()
    }


def pooled_iqm(scores: Scores, origins: Origins, name: str, resamples: int = 500) -> tuple[float, float, float]:
    """The interquartile mean of an entry over all environments, with its 95 % bootstrap interval.

    The best means are no constants, so all entries are resampled. No interval below `FEWEST_RUNS` seeds.
    """
    strata, width = [values for env_scores in scores.values() for values in env_scores], len(origins)

    def statistic(drawn: Sequence[Array]) -> float:
        entries = {entry: drawn[i * width : (i + 1) * width] for i, entry in enumerate(scores)}
        return iqm_over_environments(normalise(entries, origins)[name])

    few = min(map(len, strata)) < FEWEST_RUNS
    return statistic(strata), *(NO_INTERVAL if few else bootstrap_interval(statistic, strata, resamples=resamples))


def _best_means(scores: Scores) -> list[float]:
    return [max(map(mean, env_scores)) for env_scores in zip(*scores.values(), strict=True)]


def pairs_table(page: PageCells, pairs: pd.DataFrame) -> Table | None:
    """The pairs of a page (`compare_pairs`), a row each; None where there is none."""
    if pairs.empty:
        return None
    groups = {group.group: group._asdict() for group in page.groups}
    rows: list[Record] = [
        {
            **groups[pair.group],
            **pair._asdict(),
            "algorithm": pair.first.name,
            "against": pair.second.name,
            "iqm": iqm(pair.first.scores),
            "iqm_against": iqm(pair.second.scores),
        }
        for pair in list_rows(pairs)
    ]
    title, remarks = page.heading("differences and their tests"), [*_describe_tests(page, pairs)]
    return build_table("tests", title, rows, remarks, power=100 * POWER)


def _describe_tests(page: PageCells, pairs: pd.DataFrame) -> Iterator[str]:
    tests = pairs["tests"].max()
    yield f"{page.score_words}."
    yield (
        f"p: after Holm's correction for all {tests} tests; below {FEWEST_RUNS} seeds there is no test, no interval. "
        f"The ranks differ at p up to a level ({level_words()}, on the side with fewer seeds); a difference is decided "
        f"where the means differ by {100 * MARGIN:g} % or more, too. Undecided is no sign that two are equal."
    )
    if tests and not pairs["decidable"].any():
        yield f"No row can be decided: {tests} tests need {seeds_for_tests(tests)} seeds per side."
    names = [{*rows["name"], *rows["name_against"]} for _, rows in pairs.groupby("group")]
    if page.pairs is None and any(page.baseline not in algos and len(algos) > MOST_CELLS for algos in names):
        yield f"Of more than {MOST_CELLS} algorithms, the pairs of the one with the highest mean are shown."


def aggregate_tables(page: PageCells) -> Iterator[Table]:
    """All environments at once against the baseline, budget by budget on the page of all runs."""
    pooled = [(budget_page, *pooled_scores(budget_page)) for budget_page in page.by_budget()]
    pooled = [entry for entry in pooled if len(entry[2]) > 1]
    for number, entry in enumerate(pooled, 1):
        yield aggregate_table(*entry, "aggregate" if len(pooled) == 1 else f"aggregate-{number}")


def aggregate_table(page: PageCells, scores: Scores, origins: Origins, name: str) -> Table:
    """All environments with runs of the baseline, at least two."""
    bases, envs, width = scores[page.baseline], ", ".join(origins), len(origins)
    above = all(best > origin for best, origin in zip(_best_means(scores), origins.values()))
    labels, rows = {cell.name: cell.label for cell in page.entries}, []
    for entry, env_scores in scores.items():
        row: Record = {
            "name": entry,
            "algorithm": labels[entry],
            "seeds": sum(map(len, env_scores)),
            "environments": envs,
            "count": f"{width} environments",
        }
        if entry != page.baseline and min(map(len, (*env_scores, *bases))) >= FEWEST_RUNS:
            probability = probability_of_improvement(env_scores, bases)
            sizes = zip(map(len, env_scores), map(len, bases))
            row |= zip(BETTER, (probability, *superiority_interval(probability, *sizes)), strict=True)
        if above:
            row |= zip(IQM, pooled_iqm(scores, origins, entry), strict=True)
        rows.append(row)
    remarks = (
        f"{page.score_words} on {envs} after {page.budget}.",
        f"P(better): that a random run scores above one of {page.base_label} in the same environment, averaged over "
        "environments. IQM: interquartile mean of all returns; every environment weighs the same; "
        f"{WORDS if above else 'left out: somewhere nobody is above a random policy'}.",
        "In brackets 95 % intervals: Newcombe's of P(better), with the environments' mean variance; of the IQM by 500 "
        "bootstrap resamples of the seeds of all algorithms within each environment; none, and no P(better), below "
        f"{FEWEST_RUNS} seeds.",
    )
    return build_table("aggregate", page.heading("all environments"), rows, remarks, name, base=page.base_label)
