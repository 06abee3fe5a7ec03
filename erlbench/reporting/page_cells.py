"""The cells of a page, a row each: an algorithm in an environment with a budget, its runs, seeds and scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd

from erlbench.records.run import TRAINING
from erlbench.reporting.cells import GROUP, list_rows, seed_means, single_run_std, values_by_seed
from erlbench.reporting.formats import list_first, slugs, steps
from erlbench.reporting.published import read_published
from erlbench.reporting.score import (
    AUTO,
    CURVE,
    FINAL,
    LEARNING,
    METRICS,
    MINUTES,
    TIMESTEPS,
    CurveStretch,
    Moment,
    common_stretch,
    score,
)
from erlbench.reporting.statistics import Array, ends, group_items, iqm, mean, median, updates_per_step
from erlbench.words import say_range

ALL_RUNS, REFERENCE = "all-runs", "reference"  # the pages that are no study
# Of a cell as a page names it (`study_env`: as its study does): `group`, its number among the page's environments and
# budgets; `label` in tables and `published` in the published table; `planned` seeds; `exists`: False where it is
# published, but not in the suite; `nominal`: its budget counts one episode per generation; `own_timesteps`: its budget
# where it has another one than its group; `judged`: False where its scores mean nothing; `departures`: settings that
# differ from the study's cells.
USUAL = {
    "group": 0, "env": "", "study_env": "", "env_published": "", "total_timesteps": 0, "name": "", "label": "",
    "published": "", "planned": 0, "runs": (), "exists": True, "nominal": False, "own_timesteps": 0, "judged": True,
    "departures": (),
}  # fmt: skip
KINDS = {False: "measured", True: "modelled"}  # minutes, by whether their time is simulated; never in one column
UNRECORDED = "not recorded"  # the limit of runs whose files have no budget
MOST_SCORES = 2  # of which a caption prints the stretches
ALL_SHARE = "over the last fifth of the budget that all runs of an environment share"
HEAD = ["group", *GROUP, "env_published", "environment", "limit", "slug"]  # the columns that a group shares


CURVES, STATISTICS, TIMES = "curves", "statistics", "times"  # parts of a page, in addition to the runs' status
PARTS = {  # by the kind of its study
    "": (CURVES, STATISTICS, TIMES),
    "scores": (CURVES, STATISTICS),
    "time": (TIMES,),
    "curves": (CURVES,),
    "timeline": (TIMES,),
}


@dataclass(frozen=True, kw_only=True)
class PageCells:
    """What one page of the report shows: its cells, and what they are compared with."""

    name: str  # of its folder
    title: str
    cells: pd.DataFrame  # see `make_cells`, `score_cells`
    study: str = ""  # empty for all runs of any study
    parts: tuple[str, ...] = PARTS[""]
    source: str = ""  # of published numbers
    table: str = ""
    baseline: str = ""
    profile: str = ""
    statistic: str = "mean"  # of the published numbers next to our means
    note: str = ""  # how a study's cells differ from what was published, or what is left out
    x: str = "timesteps"  # what its curves are drawn over first
    item: str = ""  # of the source: what the page repeats
    pairs: Sequence[tuple[str, str]] | None = None  # of names, which are compared; None: as `compare_pairs` chooses
    metric: str = FINAL  # of `METRICS`, or AUTO: chosen for each environment
    at: Moment | None = None  # where its runs are cut
    is_reference: bool = False  # of `--reference`
    answer: Any = None  # of its study
    tables: Sequence[Any] = ()  # before all others
    content: Any = None  # as it was written
    verdicts: Sequence[Any] = ()  # rows of `compare_pairs`

    @cached_property
    def rows(self) -> list[Any]:
        """The cells, their columns as attributes."""
        return list_rows(self.cells)

    @property
    def entries(self) -> list[Any]:
        """The cells of algorithms that the suite has."""
        return [cell for cell in self.rows if cell.exists]

    @cached_property
    def groups(self) -> list[Any]:
        """A row for each environment and budget with the columns that its cells share; `cells` are its `entries`."""
        heads = self.cells.drop_duplicates("group")[HEAD]
        entries: Any = [[cell for cell in self.entries if cell.group == number] for number in heads.group]
        return list_rows(heads.assign(cells=entries))

    @property
    def runs(self) -> list[Any]:
        """All runs of the page, rows of the frame of runs."""
        return [run for runs in self.cells.runs for run in runs]

    @property
    def done(self) -> list[Any]:
        """The runs that count in tables."""
        return [run for runs in self.cells.done for run in runs]

    @property
    def score_words(self) -> str:
        """What the scores are, environment by environment where they differ."""
        words = [(cell.score_words, cell) for cell in self.entries]
        if len({text for text, _ in words}) > MOST_SCORES:
            words = [(text.replace(str(cell.stretch), ALL_SHARE), cell) for text, cell in words]
        kinds = group_items((text, cell.environment) for text, cell in words)
        if len(kinds) < 2:
            return next(iter(kinds), METRICS[FINAL].words)
        return "; ".join(f"{words} ({', '.join(dict.fromkeys(names))})" for words, names in kinds.items())

    @property
    def score_title(self) -> str:
        """What a heading calls them."""
        titles = {"return" if self.at and cell.metric == FINAL else METRICS[cell.metric].title for cell in self.entries}
        return titles.pop() if len(titles) == 1 else "scores"

    @property
    def by_final(self) -> bool:
        """Whether all scores are of the final evaluation."""
        return bool((self.cells.metric == FINAL).all())

    @property
    def notes(self) -> list[str]:
        """Its note, for captions; none where it has none."""
        return [self.note] if self.note else []

    @property
    def by_time(self) -> bool:
        """Whether its runs are cut after some minutes, so that each has other training steps."""
        return self.at is not None and self.at.minutes

    @property
    def published(self) -> bool:
        """Whether any of its entries has published numbers."""
        return bool((self.cells.published != "").any())

    @property
    def base_label(self) -> str:
        """The baseline's name in tables, or an empty text."""
        return next((cell.label for cell in self.entries if cell.name == self.baseline), "")

    @property
    def budget(self) -> str:
        """What ends the runs of all cells, and the span of the steps that they reached where it differs."""
        if self.at:
            return f"{self.at} (the nearest evaluations: {self.at.span(self.done)})"
        if self.cells.limit.nunique() != 1:
            return "the budget named with the environment"
        head = self.rows[0]
        limit = head.limit.replace("steps", "training steps")
        reached = [run.timesteps for cell in self.rows if not cell.nominal for run in cell.done]
        span = say_range(reached)
        if span and (head.total_generations or head.total_minutes):
            return f"{limit} ({span} steps)"
        return f"{span} training steps" if span and not head.total_timesteps else limit

    def by_budget(self) -> list[PageCells]:
        """The page's groups that can be pooled: on the page of all runs, groups of one budget, else all."""
        if self.study or not len(self.cells):
            return [self]
        return [replace(self, cells=cells) for _, cells in self.cells.groupby([*GROUP[1:]], sort=False)]

    def find_published(self, cell: Any, statistic: str) -> Any:
        """The published number of a cell; None without one."""
        return read_published().get((self.source, self.table, cell.env_published, cell.published, statistic))

    def heading(self, what: str) -> str:
        """The title of a table of the page."""
        return f"{self.title} – {what}"


def make_cells(records: Iterable[dict[str, Any]], study: str = "", at: Moment | None = None) -> pd.DataFrame:
    """The frame of cells with the columns of `USUAL`, and what follows from their runs; `score_cells` adds the scores.

    `done` are the runs that count in tables, `failed` those that ended by an error, `seeds` the sample; `n` counts
    seeds, `status` describes the others. `environment` names the group in tables, `limit` is what ends its
    runs (`60,000 steps`), `slug` is part of a file's name.
    """
    cells = pd.DataFrame([{**USUAL, **record} for record in records], columns=[*USUAL]).astype(
        {"exists": bool, "nominal": bool}
    )
    cells["label"] = cells.label.where(cells.label != "", cells.name)
    cells["done"] = [tuple(run for run in runs if run.done) for runs in cells.runs]
    cells["failed"] = [tuple(run for run in runs if run.status == "failed") for runs in cells.runs]
    cells["seeds"] = [tuple(dict.fromkeys(run.seed for run in runs)) for runs in cells.done]
    cells["n"] = cells.seeds.map(len).astype(int)
    cells["learning_timesteps"] = [mean(ends(runs, "learning_steps")) for runs in cells.done]
    cells["status"] = [_describe_status(cell) for cell in list_rows(cells)]
    for column in ("total_generations", "total_minutes"):
        common = {number: _find_common_limit(rows, column) for number, rows in cells.groupby("group")}
        cells[column] = cells.group.map(common)
    heads = list_rows(cells.drop_duplicates("group"))
    several = not (study or at) or len({head.total_timesteps for head in heads}) > 1
    cells["environment"] = cells.group.map(
        {head.group: f"{head.env}, {_shorten_limit(head, heads)}" if several else head.env for head in heads}
    )
    cells["limit"] = cells.group.map({head.group: describe_limit(head, at) for head in heads})
    names = slugs([head.env if study or at else _name_group(head) for head in heads])
    cells["slug"] = cells.group.map(dict(zip((head.group for head in heads), names)))
    return cells


def _find_common_limit(cells: pd.DataFrame, column: str) -> Any:
    """The limit that all runs of a group share, else 0; generations not of a nominal budget."""
    chosen = cells.runs[~cells.nominal] if column == "total_generations" else cells.runs
    limits = {getattr(run, column) for runs in chosen for run in runs}
    return limits.pop() if len(limits) == 1 else 0


def _describe_status(cell: Any) -> str:
    """`done`, `not run`, or what the runs that do not count are at."""
    if not cell.exists:
        return "not run: not in the suite"
    unfinished = [run for run in cell.runs if not run.done]
    parts = list_first([f"seed {run.seed} {run_status(run)}" for run in unfinished], 3, "more unfinished")
    absent = cell.planned - len({run.seed for run in cell.runs})
    if absent > 0:
        parts.append("not run" if not cell.runs else f"{absent} not run")
    return "; ".join(parts) or "done"


def run_status(run: Any) -> str:
    """`running, 12,000 of 20,000 steps`, with the message of a run that failed."""
    of = f" of {run.total_timesteps:,}" if run.total_timesteps else ""
    return f"{run.status}, {run.timesteps:,}{of} steps" + (f" ({run.message})" if run.message else "")


def describe_limit(head: Any, at: Moment | None = None, budget: str = "") -> str:
    """What ends the runs of a group, or one run: `60,000 steps`, `300 generations or 60,000 steps`."""
    if at:
        return str(at)
    generations = f"{head.total_generations:,} generations" if head.total_generations else ""
    timesteps = f"{budget or f'{head.total_timesteps:,}'} steps" if head.total_timesteps else ""
    minutes = f"{head.total_minutes:g} modelled minutes" if head.total_minutes else ""
    limits = generations, " and ".join(filter(None, (timesteps, minutes)))
    return " or ".join(filter(None, limits)) or UNRECORDED


def _shorten_limit(head: Any, heads: Sequence[Any]) -> str:
    """A group's limit in short form; exact where another budget of its environment has the same short form."""
    short = steps(head.total_timesteps)
    others = {other.total_timesteps for other in heads if other.env == head.env} - {head.total_timesteps}
    return describe_limit(head, budget="" if short in map(steps, others) else short)


def _name_group(head: Any) -> str:
    minutes = f"{head.total_minutes:g}min" if head.total_minutes else ""
    limits = (head.total_timesteps, head.total_generations or "", minutes)
    return "-".join([head.env, *filter(None, map(str, limits))])


def cell_rows(cells: pd.DataFrame) -> list[tuple[Any, dict[str, Any]]]:
    """Each cell with its row of a table: the number of its `runs`, and its gradient updates per training step."""
    rates = [updates_per_step(runs) for runs in cells.done]
    rows: list[Any] = cells.assign(
        algorithm=cells.label,
        name=cells.name.where(cells.exists, ""),
        runs=cells.done.map(len),
        published_env=cells.env_published,
        critic_updates_per_step=[critic for critic, _ in rates],
        actor_updates_per_step=[actor for _, actor in rates],
    ).to_dict("records")
    return [*zip(list_rows(cells), rows)]


def make_all_runs_page(runs: pd.DataFrame, title: str = "All runs", at: Moment | None = None) -> PageCells:
    """The page of all runs of any study, by environment and budget; `at`: where they were cut."""
    groups = group_items((tuple(getattr(run, column) for column in GROUP), run) for run in list_rows(runs))
    records = [
        {
            "group": number,
            "env": cell_runs[0].env,
            "total_timesteps": int(cell_runs[0].total_timesteps),
            "name": name,
            "planned": len({run.seed for run in cell_runs}),
            "runs": tuple(cell_runs),
        }
        for number, (_, group_runs) in enumerate(sorted(groups.items(), key=itemgetter(0)))
        for name, cell_runs in group_items((run.name, run) for run in group_runs).items()
    ]
    return PageCells(name=ALL_RUNS, title=title, cells=make_cells(records, at=at), at=at)


def score_cells(cells: pd.DataFrame, metric: str, stretch: CurveStretch | None = None) -> pd.DataFrame:
    """The cells with one score, `metric` on the `stretch` of a curve.

    `run_scores` are the scores of each seed's runs, `scores` (seeds,) their means, `std` the standard deviation of a
    single run's score, `score_words` their description.
    """
    run_scores = [*map(partial(score_seeds, metric=metric, stretch=stretch), cells.done)]
    on_stretch = f" {stretch}" if stretch and metric == CURVE else ""
    words = []
    for runs in cells.done:
        imported = any(run.imported and run.imported.returns == TRAINING for run in runs)
        training = " (running means of training returns in place of evaluations)" if imported else ""
        words.append(f"{METRICS[metric].words}{training}{on_stretch}")
    columns: dict[str, Any] = {
        "metric": metric,
        "stretch": [stretch] * len(cells),
        "run_scores": run_scores,
        "score_words": words,
        "scores": (scores := list(map(seed_means, run_scores))),
        "std": list(map(single_run_std, run_scores)),
        "mean": list(map(mean, scores)),
        "median": list(map(median, scores)),
        "iqm": list(map(iqm, scores)),
    }
    return cells.assign(**columns)


def score_seeds(runs: Sequence[Any], metric: str, stretch: CurveStretch | None) -> tuple[Array, ...]:
    """The scores of the runs of each seed that has one (runs of the seed,)."""
    values = values_by_seed(runs, partial(score, metric=metric, stretch=stretch))
    return tuple(scores for scores in values if not np.isnan(scores).any())


def choose_score(
    cells: pd.DataFrame, metric: str, budget: float, axis: str = TIMESTEPS
) -> tuple[str, CurveStretch | None]:
    """The score of a comparison, and the stretch of a curve: `AUTO` is the curve where all runs have it, else final."""
    if metric not in (AUTO, CURVE):
        return metric, None
    evaluations = [run.evaluations for runs in cells.done[cells.exists] for run in runs]
    stretch = common_stretch(evaluations, budget, axis)
    return (CURVE if stretch or metric == CURVE else FINAL), stretch


def score_page(page: PageCells, metric: str = AUTO, baseline: str = "") -> PageCells:
    """The page with one score for each environment and budget; runs that generations end have no curve in common.

    With published numbers `AUTO` is the final evaluation. `baseline` replaces the page's baseline, if a judged
    entry has that name.
    """
    parts, at = [], page.at
    if page.source and metric == AUTO:
        metric = FINAL
    if not ((page.cells.name == baseline) & page.cells.exists & page.cells.judged).any():
        baseline = page.baseline
    for _, cells in page.cells.groupby("group", sort=False):
        head = cells.iloc[0]
        minutes = at.value if at and at.minutes else head.total_minutes
        budget = at.value if at else minutes or head.total_timesteps
        kind = FINAL if metric == AUTO and head.total_generations else metric
        chosen = choose_score(cells, kind, budget, MINUTES if minutes else TIMESTEPS)
        scored = score_cells(cells, *chosen)
        if at:
            last, nearest = METRICS[FINAL].words, f"Return of the evaluation nearest to {at}"
            scored["score_words"] = scored.score_words.str.replace(last, nearest)
        parts.append(scored)
    return replace(page, cells=pd.concat(parts) if parts else page.cells, metric=metric, baseline=baseline)


def scores_at_equal_steps(cell: Any, learning_steps: int) -> Array:
    """The scores (seeds,) after so many training and fitness steps together, by the last evaluation before.

    The stretch of a curve is then one of these steps.
    """
    beyond = int(cell.metric == CURVE)
    runs = []
    for run in cell.done:
        count = int((run.evaluations.learning_steps <= learning_steps).sum()) + beyond
        if count < len(run.evaluations):  # successes are known of the last evaluation alone
            cut = run.evaluations[: max(1, count)]
            run = run._replace(evaluations=cut, last_success=(), last_success_ever=())
        runs.append(run)
    stretch = replace(cell.stretch, axis=LEARNING) if cell.stretch else None
    return seed_means(score_seeds(runs, cell.metric, stretch))


def has_fitness_steps(cell: Any) -> bool:
    """Whether a run learnt from steps that the budget does not count."""
    return bool((ends(cell.done, "learning_steps") > ends(cell.done, "timesteps")).any())


def find_cell(group: Any, name: str) -> Any:
    """The cell of an entry in a group; None without."""
    return next((cell for cell in group.cells if cell.name == name), None)


def without_judgement(page: PageCells) -> PageCells:
    """The page without baseline, published numbers and reference runs, for runs whose scores mean nothing."""
    cells = page.cells[page.cells.exists].assign(published="", judged=False)
    return replace(page, cells=cells, baseline="")
