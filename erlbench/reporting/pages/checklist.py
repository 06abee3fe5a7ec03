"""The reproducibility checklist: items 4 to 8 and 12 of NeurIPS's list, answered from the files of the runs.

What no file says is named as not recorded. What only the authors know is asked for.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import erlbench
from erlbench.bundle import name_hider
from erlbench.experiment.fairness import overridden
from erlbench.records.read import ignore, read_columns
from erlbench.records.schema import TaskRow
from erlbench.reporting.data.comparison import everything
from erlbench.reporting.data.references import Source
from erlbench.reporting.data.remarks import Remark, RemarkKind
from erlbench.reporting.data.runs import StoredRun
from erlbench.reporting.data.seeds import STD
from erlbench.reporting.documents.files import write_table
from erlbench.reporting.documents.formats import NONE, significant
from erlbench.reporting.documents.model import Table
from erlbench.reporting.documents.model import columns as columns_of
from erlbench.reporting.documents.render import Content, markdown
from erlbench.reporting.pages.page import Page
from erlbench.reporting.statistics.estimates import FEWEST_RUNS
from erlbench.reporting.statistics.significance import Case, level_words
from erlbench.reporting.verdict.words import result
from erlbench.settings import setting_text
from erlbench.words import counted

NAME = "checklist"
TOTAL, UNKNOWN = "Total", "not recorded"
MOST_COMMANDS = 200
LEFT_OUT = (RemarkKind.LEFT_OUT, RemarkKind.REPEATED)
NOTES = {  # of columns, by their titles
    "Seeds": "given; a run's initial policy, exploration and start states follow from its seed.",
    "Chosen by": "the preset: a default of the algorithm, whose source its page names; of an algorithm that is not the "
    "suite's, nothing is known about defaults.",
    "Hours": "by the clock, with evaluations, without pauses; several runs may have shared the machine.",
    "Not finished": "failed, interrupted, running, or never trained.",
    "Processor hours": "of all tasks of all these runs.",
    "Modelled hours": "of runs in simulated time: what the model says, and no computing.",
    "Not recorded": "runs whose computing time no file says; the hours are without them.",
}


def write_checklist(
    folder: Path,
    pages: Sequence[Page],
    runs: Sequence[StoredRun],
    warnings: Iterable[Remark],
    sources: Sequence[Source],
) -> Content:
    """Write the checklist with its tables into the folder, and return it as a part of `index.html`."""
    values = checklist(pages, runs, warnings, sources)
    tables = [table for table in values.values() if isinstance(table, Table) and table.rows]
    content = Content("checklist.jinja", values, tables)
    folder.mkdir(parents=True, exist_ok=True)
    for table in tables:
        write_table(table, folder)
    (folder / "index.md").write_text(markdown(content), encoding="utf-8")
    return content


def checklist(
    pages: Sequence[Page], runs: Sequence[StoredRun], warnings: Iterable[Remark], sources: Sequence[Source] = ()
) -> dict[str, Any]:
    """What the template prints; command lines are without home folders and names of this user and machine."""
    frame = pd.DataFrame([_record(run) for run in runs])
    compute, hide = _compute(frame), name_hider()
    marks = Counter(mark for run in runs for mark in run.machine.marks)
    versions: dict[str, dict[str, None]] = {}
    for name, version in (pair for run in runs for pair in run.machine.versions):
        versions.setdefault(name, {})[version] = None
    return {
        "number": len(runs),
        "states": ", ".join(f"{count:,} {status}" for status, count in sorted(Counter(frame.status).items())),
        "left_out": sum(warning.kind in LEFT_OUT for warning in warnings),
        "kernels": _counts(frame.kernels),
        "simulated": frame.simulated.sum(),
        "marks": [f"May not be repeatable, {counted(count, 'run')}: {text}" for text, count in marks.items()],
        "software": _counts(frame.software),
        "version": erlbench.__version__,
        "imported": [
            f"Made by other programs, {counted(count, 'run')}: {text}."
            for text, count in Counter(frame.imported[frame.imported != ""]).items()
        ],
        "commands": [hide(command) for command in frame.command[frame.command != ""].unique()[:MOST_COMMANDS]],
        "without_command": (frame.command == "").sum(),
        "cells": _cells(runs),
        "settings": _settings(runs),
        "without_settings": sum(not run.settings for run in runs),
        "comparisons": list(_comparisons(page for page in pages if not page.known)),
        "std": STD,
        "fewest": FEWEST_RUNS,
        "level": level_words(),
        "machines": "; ".join(frame.machine.unique()),
        "compute": compute,
        "unknown": compute.rows[-1]["not_recorded"],
        "packages": ", ".join(f"{name} {' / '.join(versions[name])}" for name in sorted(versions)) or UNKNOWN,
        "licences": [
            f"Reference runs that the report shows, {source.name}: {source.licence or UNKNOWN}."
            for source in {source.name: source for source in sources}.values()
        ],
    }


def _record(run: StoredRun) -> dict[str, Any]:
    """Where and how a run was computed; hours by the clock, without pauses."""
    machine, about = run.machine, run.imported
    seconds = run.total_time_s if math.isfinite(run.total_time_s) else run.train_time_s
    hours = (seconds - run.paused_s) / 3600
    memory = f", {machine.memory} GiB memory" if machine.memory else ""
    processes = f", processes: {machine.processes}" if machine.processes else ""
    device = f", device {machine.device}" if machine.device else ""
    return {
        "environment": run.env, "algorithm": run.name, "status": run.status, "done": run.done,
        "simulated": run.simulated_time, "kernels": ", ".join(machine.kernels) or UNKNOWN,
        "software": machine.software, "command": " ".join(machine.command.split()),
        "imported": f"{about.format} of {about.origin}, licence {about.licence or UNKNOWN}" if about else "",
        "machine": f"{machine.hardware}{memory}{processes}{device}",
        "hours": hours if math.isfinite(hours) and hours >= 0 else math.nan,
        "processor_hours": _processor_hours(run),
    }  # fmt: skip


def _processor_hours(run: StoredRun) -> float:
    """Processor hours of all tasks; NaN where a task does not say."""
    if run.imported or not (run.path / TaskRow.file).is_file():
        return math.nan
    try:
        rows = read_columns(run.path, TaskRow, ignore)
    except ValueError:
        return math.nan
    seconds = np.array([] if rows is None else rows["cpu_s"], np.float64)
    return float(seconds.sum()) / 3600 if len(seconds) else math.nan


def _comparisons(pages: Iterable[Page]) -> Iterator[str]:
    for page in pages:
        tests = {one.tests for one in page.verdicts if one.case is not Case.NOT_COMPARABLE}
        family = f" Correction for {max(tests):,} tests." if tests and max(tests) > 1 else ""
        what = result(page.verdicts) + family if page.verdicts else "no algorithms are compared."
        yield f"{page.comparison.title}. Score: {page.comparison.score_words}. {what}"


def _cells(runs: Sequence[StoredRun]) -> Table:
    """Seeds, budgets and evaluations."""
    said = {"evaluated_every": "eval_freq", "episodes": "eval_episodes", "final_episodes": "final_episodes",
            "workers": "workers"}  # fmt: skip
    rows = [
        {"environment": group.env, "algorithm": cell.name, "budget": group.limit,
         "seeds": ", ".join(map(str, dict.fromkeys(run.seed for run in cell.runs))),
         "finished_seeds": str(len(cell.seeds)),
         **{title: " / ".join(dict.fromkeys(str(run.asked.get(name) or UNKNOWN) for run in cell.runs))
            for title, name in said.items()}}
        for group in everything(runs).groups for cell in group.run_sets
    ]  # fmt: skip
    return _table("runs", "What was run", pd.DataFrame(rows))


def _settings(runs: Sequence[StoredRun]) -> Table:
    """All hyper-parameters by algorithm, the values of one setting below each other."""
    names = ["algorithm", "setting", "value", "chosen_by"]
    values = [
        (run.name, setting, setting_text(value), "the user" if setting in chosen else "the preset", run.env)
        for run in runs for chosen in [overridden(run.config)] for setting, value in run.settings.items()
    ]  # fmt: skip
    frame = pd.DataFrame(values, columns=[*names, "environments"]).drop_duplicates()
    frame["place"] = frame.groupby(names[:2], sort=False).ngroup()
    frame = frame.sort_values("place", kind="stable")
    return _table("settings", "Settings", frame.groupby(names, sort=False).environments.agg(", ".join).reset_index())


def _compute(frame: pd.DataFrame) -> Table:
    """Hours of each cell and in total; NaN where no value is known."""
    measured = frame.hours.where(~frame.simulated)
    parts = frame[["environment", "algorithm"]].assign(
        runs=frame.done, hours=measured.where(frame.done), not_finished=~frame.done,
        their_hours=measured.where(~frame.done), processor_hours=frame.processor_hours,
        modelled_hours=frame.hours.where(frame.simulated),
        not_recorded=measured.isna() & frame.processor_hours.isna(), machine=frame.machine,
    )  # fmt: skip
    both = pd.concat([parts, parts.assign(environment=TOTAL, algorithm="", machine="")])
    cells = both.groupby(["environment", "algorithm"], sort=False)
    sums = cells[[*parts.columns[2:-1]]].sum(min_count=1)
    machines = cells.machine.agg(lambda texts: "; ".join(texts.unique()))
    return _table("compute", "Computing time", sums.assign(machine=machines).reset_index())


def _table(name: str, title: str, frame: pd.DataFrame) -> Table:
    rows: list[Any] = frame.to_dict("records")
    return Table(name, title, columns_of(rows, _print_hours, NOTES), rows)


def _print_hours(value: float) -> str:
    return NONE if math.isnan(value) else str(value) if isinstance(value, int) else significant(value)


def _counts(texts: Iterable[str]) -> str:
    counts = Counter(texts)
    return "; ".join(
        f"{text} ({counted(count, 'run')})" if len(counts) > 1 else text for text, count in counts.most_common()
    )
