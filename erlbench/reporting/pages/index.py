"""The report's first page and `index.html`: the matrix, what is decided, what did not finish, how to repeat it."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from erlbench.bundle import strip_unpacked
from erlbench.reporting.data.comparison import run_status
from erlbench.reporting.data.references import Source
from erlbench.reporting.data.remarks import Remark, folded
from erlbench.reporting.data.runs import StoredRun
from erlbench.reporting.documents import render
from erlbench.reporting.documents.files import csv_value
from erlbench.reporting.documents.formats import fraction, number
from erlbench.reporting.documents.model import Column, Table
from erlbench.reporting.documents.render import Content, Place
from erlbench.reporting.pages import checklist
from erlbench.reporting.pages.charts import ChartData
from erlbench.reporting.pages.page import SMOKE, SMOKE_BANNER, Page, answered
from erlbench.reporting.tables.overview import overview
from erlbench.reporting.verdict.words import result
from erlbench.words import counted

OVERVIEW = "overview"
MOST_LINES = 200  # of one list; the rest is in cells.csv
CELL_COLUMNS = (
    "env", "name", "seed", "status", "timesteps", "total_timesteps", "return_mean", "train_time_s", "updated",
    "message", "studies", "path", "command",
)  # fmt: skip


def write_index(
    out: Path, pages: Sequence[Page], runs: Sequence[StoredRun], warnings: Sequence[Remark], charts: ChartData,
    sources: Sequence[Source], with_checklist: bool = False,
) -> Path:  # fmt: skip
    """Write `index.md`, `index.html`, `cells.csv` and perhaps the checklist; return the path of `index.html`."""
    _write_cells(out / "cells.csv", pages, runs)
    more = (
        {checklist.NAME: checklist.write_checklist(out / checklist.NAME, pages, runs, warnings, sources)}
        if with_checklist
        else {}
    )
    index = Content("index.jinja", {**_index(pages, runs, warnings), "checklist": with_checklist})
    (out / "index.md").write_text(render.markdown(index), encoding="utf-8")
    path = out / "index.html"
    path.write_text(render.web_page(_places(index, pages, more), charts.shared(), _first(pages)), encoding="utf-8")
    return path


def _index(pages: Sequence[Page], runs: Sequence[StoredRun], warnings: Sequence[Remark]) -> dict[str, Any]:
    """What the template prints."""
    own = [page for page in pages if not page.known]
    whole = [page for page in own if not page.comparison.study]
    answers = [(page.comparison.title, *answered(page.answer)[:2]) for page in own if page.answer]
    profiles = {page.comparison.profile for page in own if page.comparison.study}
    commands = Counter(run.machine.command for run in runs if run.machine.command)
    unknown = len(runs) - commands.total()
    none = f"; {counted(unknown, 'run')} {'has' if unknown == 1 else 'have'} none" if unknown else ""
    return {
        "reference": [overview(page.comparison) for page in pages if page.known and not page.comparison.study],
        "banner": SMOKE_BANNER if profiles == {SMOKE} else "",
        "studies": answers,
        "comparisons": [
            (overview(page.comparison) if page.comparison.groups else None, result(page.verdicts)) for page in whole
        ],
        "summary": _summary(runs),
        "contents": _contents(pages),
        "lists": [
            ("Warnings", _limited(folded(warnings))),
            ("Runs that are not finished", _limited(_unfinished(runs))),
            ("Machines and versions", _limited(_machines(runs))),
        ],
        "commands": _limited(" ".join(command.split()) for command in commands),
        "commands_of": f"The command lines of the runs (each run's last start), from meta.json{none}:",
    }


def _places(index: Content, pages: Sequence[Page], more: Mapping[str, Content]) -> dict[Place, Content]:
    """All pages of `index.html`, as its menu names them."""
    places = {Place(OVERVIEW, "", _target, "Overview"): index}
    studies = Counter(page.comparison.study for page in pages)
    for page in pages:
        one = page.comparison
        title = one.name if one.study and studies[one.study] > 1 else one.study or one.title  # the name has the profile
        places[Place(one.name, f"{one.name}/", _target, title)] = page.content
    return places | {Place(name, f"{name}/", _target, name.capitalize()): content for name, content in more.items()}


def _first(pages: Sequence[Page]) -> str:
    """The page that a reader sees first: the only one, unless it has a matrix, which the overview opens with."""
    names = {one.name for page in pages for one in page.comparison.run_sets if one.exists}
    if len(pages) == 1 and (len(pages[0].comparison.groups) == 1 or len(names) == 1):
        return pages[0].comparison.name
    return OVERVIEW


def _target(target: str) -> str:
    """Where a link of a Markdown page leads to in the one page."""
    if "://" in target:
        return target
    page, _, anchor = target.partition("#")
    if not page.endswith("index.md"):
        return target
    folder = page.removesuffix("index.md").strip("./") or OVERVIEW
    return f"#{folder}-{anchor}" if anchor else f"#{folder}"


def _summary(runs: Sequence[StoredRun]) -> str:
    counts = Counter(run.status for run in runs)
    states = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    times = sorted(time for run in runs for time in (*run.machine.started, run.updated) if time)
    when = f" Started and updated between {_moment(times[0])} and {_moment(times[-1])}." if times else ""
    return f"{counted(len(runs), 'run')}{f': {states}' if states else ''}.{when} All of them, one a line: "


def _moment(time: str) -> str:
    """A time of meta.json to the minute, such as `2026-01-31 18:05 UTC`; another text as it is."""
    try:
        return datetime.fromisoformat(time).astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    except ValueError:
        return time


def _contents(pages: Sequence[Page]) -> Table:
    columns: list[Column] = [
        Column("Page", "name", link="link"),
        Column("What", "title"),
        Column("Profile", "profile"),
        Column("Finished runs", "done planned", fraction),
    ]
    return Table("", "", columns, [{**vars(page.comparison), **vars(page)} for page in pages])


def _unfinished(runs: Sequence[StoredRun]) -> Iterator[str]:
    for run in (run for run in runs if not run.done):
        when = f", last update {run.updated}" if run.updated else ""
        known = f", training return {number(run.training_return)}" if math.isfinite(run.training_return) else ""
        yield f"{run.name} on {run.env}, seed {run.seed}: {run_status(run)}{known}{when}"


def _machines(runs: Sequence[StoredRun]) -> Iterator[str]:
    for texts in (Counter(run.machine.hardware for run in runs), Counter(run.machine.software for run in runs)):
        for text, count in texts.most_common():
            yield f"{text} ({counted(count, 'run')})"


def _write_cells(path: Path, pages: Sequence[Page], runs: Sequence[StoredRun]) -> None:
    where: dict[Path, list[str]] = {}
    for page in (page for page in pages if page.comparison.study and not page.known):
        for run in page.comparison.runs:
            where.setdefault(run.path, []).append(page.comparison.name)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(CELL_COLUMNS)
        for run in runs:
            last = float(run.evaluations.return_mean[-1]) if len(run.evaluations) else None
            place = strip_unpacked(str(run.path))
            values = [
                run.env, run.name, run.seed, run.status, run.timesteps, run.total_timesteps, last, run.train_time_s,
                run.updated, run.message, " ".join(where.get(run.path, [])), place, run.machine.command,
            ]  # fmt: skip
            writer.writerow(map(csv_value, values))


def _limited(lines: Iterable[str]) -> list[str]:
    lines = list(lines)
    more = len(lines) - MOST_LINES
    return lines[:MOST_LINES] + ([f"... and {more} more"] if more > 0 else [])
