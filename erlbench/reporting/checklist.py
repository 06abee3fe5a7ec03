"""The reproducibility checklist of NeurIPS, items 4 to 8 and 12, from the files of the runs.

`web/checklist.jinja` has the sentences. Values that no file has are named as not recorded; the authors add what only
they know.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

import erlbench
from erlbench.bundle import name_hider
from erlbench.experiment.fairness import overridden
from erlbench.reporting.cells import LEFT_OUT, STD
from erlbench.reporting.documents import Column, Content, Record, Table, write_content
from erlbench.reporting.formats import NONE, significant
from erlbench.reporting.page_cells import PageCells, describe_limit
from erlbench.reporting.runs import run_tables
from erlbench.reporting.significance import level_words
from erlbench.reporting.statistics import FEWEST_RUNS
from erlbench.reporting.words import result
from erlbench.settings import setting_text
from erlbench.words import counted

NAME = "checklist"
TOTAL, UNKNOWN = "Total", "not recorded"
MOST_COMMANDS = 200
CELL = ["environment", "algorithm"]
NOTES = {  # of columns
    "seeds": "given; a run's initial policy, exploration and start states follow from its seed.",
    "chosen_by": "the preset: a default of the algorithm, whose source its page names; of an algorithm that is not the "
    "suite's, nothing is known about defaults.",
    "hours": "by the clock, with evaluations, without pauses; several runs may have shared the machine.",
    "not_finished": "failed, interrupted, running, or never trained.",
    "modelled_hours": "modelled, of runs in simulated time: no computing.",
}


def write_checklist(
    out: Path, pages: Sequence[PageCells], runs: Sequence[Any], warnings: Iterable[str], sources: Sequence[Any]
) -> Content:
    """Write the checklist with its tables into its folder below `out`, and return it as a part of `index.html`."""
    values = checklist(pages, runs, warnings, sources)
    tables = [table for table in values.values() if isinstance(table, Table) and table.rows]
    content = Content(template="checklist.jinja", values=values, blocks=tables, name=NAME, title=NAME.capitalize())
    write_content(content, out)
    return content


def checklist(
    pages: Sequence[PageCells], runs: Sequence[Any], warnings: Iterable[str], sources: Sequence[Any] = ()
) -> Record:
    """What the template prints; command lines are without home folders and names of this user and machine."""
    frame, hide = pd.DataFrame(map(_make_record, runs)), name_hider()
    licences = {source.source: source.licence for source in sources}
    settings = [
        (run.name, setting, setting_text(value), "the user" if setting in chosen else "the preset", run.env)
        for run in runs
        for chosen in [overridden(run_tables(run))]
        for setting, value in run.settings.items()
    ]
    return {
        "runs": frame, "counts": _list_counts, "counted": counted, "version": erlbench.__version__,
        "marks": pd.Series([mark for run in runs for mark in run.marks], dtype=object),
        "packages": ", ".join(sorted({" ".join(pair) for run in runs for pair in run.versions})) or UNKNOWN,
        "commands": [hide(command) for command in frame.command[frame.command != ""].unique()[:MOST_COMMANDS]],
        "left_out": sum(LEFT_OUT in warning for warning in warnings),
        "comparisons": [_describe_verdicts(page) for page in pages if not page.is_reference],
        "licences": [f"Reference runs that the report shows, {name}: {licence or UNKNOWN}."
                     for name, licence in licences.items()],
        "cells": _tabulate_runs(frame), "settings": _tabulate_settings(settings), "compute": _tabulate_compute(frame),
        "std": STD, "fewest": FEWEST_RUNS, "level": level_words(),
    }  # fmt: skip


def _make_record(run: Any) -> Record:
    """A run's values for the tables; hours by the clock, without pauses."""
    about, config = run.imported, run.run_config
    seconds = run.total_time_s if math.isfinite(run.total_time_s) else run.train_time_s
    hours = (seconds - run.paused_s) / 3600
    machine = [
        run.hardware,
        run.memory and f"{run.memory} GiB memory",
        run.processes and f"processes: {run.processes}",
        run.device and f"device {run.device}",
    ]
    return {
        "environment": run.env, "algorithm": run.name, "budget": describe_limit(run),
        "seeds": str(run.seed), "evaluated_every": str(config.get("eval_freq") or UNKNOWN),
        "episodes": run.eval_episodes or UNKNOWN, "final_episodes": str(config.get("final_episodes") or UNKNOWN),
        "workers": run.workers or UNKNOWN, "status": run.status, "done": run.done, "simulated": run.simulated_time,
        "kernels": ", ".join(run.kernels) or UNKNOWN, "software": run.software,
        "command": " ".join(run.command.split()), "without_settings": not run.settings,
        "imported": f"{about.format} of {about.origin}, licence {about.licence or UNKNOWN}" if about else "",
        "machine": ", ".join(filter(None, machine)), "hours": hours if 0 <= hours < math.inf else math.nan,
    }  # fmt: skip


def _describe_verdicts(page: PageCells) -> str:
    tests = max((pair.tests for pair in page.verdicts), default=0)
    family = f" Correction for {tests:,} tests." if tests > 1 else ""
    what = result(page.verdicts) + family if page.verdicts else "no algorithms are compared."
    return f"{page.title}. Score: {page.score_words}. {what}"


def _tabulate_runs(frame: pd.DataFrame) -> Table:
    """Seeds, budgets and evaluations."""
    cells = frame.groupby([*CELL, "budget"], sort=False)
    texts = cells[["seeds", "evaluated_every", "episodes", "final_episodes", "workers"]].agg(_join)
    return _table("runs", "What was run", texts.assign(finished_runs=cells.done.sum()))


def _tabulate_settings(values: Sequence[tuple[str, ...]]) -> Table:
    """All hyper-parameters by algorithm, the values of one setting below each other."""
    names = ["algorithm", "setting", "value", "chosen_by"]
    frame = pd.DataFrame(values, columns=[*names, "environments"])
    frame["place"] = frame.groupby(names[:2], sort=False).ngroup()
    settings = frame.sort_values("place", kind="stable").groupby(names, sort=False)
    return _table("settings", "Settings", settings[["environments"]].agg(_join))


def _tabulate_compute(frame: pd.DataFrame) -> Table:
    """Hours of each cell and in total; NaN where no value is known."""
    measured = frame.hours.where(~frame.simulated)
    numbers = {
        "runs": frame.done,
        "hours": measured.where(frame.done),
        "not_finished": ~frame.done,
        "their_hours": measured.where(~frame.done),
        "modelled_hours": frame.hours.where(frame.simulated),
    }
    parts = frame[[*CELL, "machine"]].assign(**numbers)
    cells = pd.concat([parts, parts.assign(environment=TOTAL, algorithm="", machine="")]).groupby(CELL, sort=False)
    return _table(
        "compute", "Computing time", cells[[*numbers]].sum(min_count=1).assign(machine=cells.machine.agg(_join))
    )


def _join(texts: pd.Series) -> str:
    return ", ".join(texts.unique())


def _table(name: str, title: str, frame: pd.DataFrame) -> Table:
    """The frame with its index; a number that is not known is a dash."""
    rows: list[Any] = frame.reset_index().to_dict("records")
    columns = [
        Column(
            key.replace("_", " ").capitalize(), (key,), _print, note=NOTES.get(key, ""), words=isinstance(value, str)
        )
        for key, value in (rows[0] if rows else {}).items()
    ]
    return Table(name, title, columns, rows)


def _print(value: Any) -> str:
    return NONE if value != value else significant(value) if isinstance(value, float) else str(value)


def _list_counts(texts: pd.Series) -> str:
    """The texts, the most frequent first, each with the number of its runs where there are several."""
    counts = Counter(texts.tolist()).most_common()
    return "; ".join(f"{text} ({counted(count, 'run')})" if len(counts) > 1 else text for text, count in counts)
