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

import erlbench
from erlbench.bundle import name_hider
from erlbench.experiment.fairness import overridden
from erlbench.records.read import ignore, read_columns
from erlbench.records.schema import TaskRow
from erlbench.reporting.data.comparison import everything
from erlbench.reporting.data.published import load_published
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
ASKED = {  # what config.toml says of a cell's runs, by the titles of columns
    "Evaluated every": "eval_freq", "Episodes": "eval_episodes", "Final episodes": "final_episodes",
    "Workers": "workers",
}  # fmt: skip


def write_checklist(
    folder: Path, pages: Sequence[Page], runs: Sequence[StoredRun], warnings: Iterable[Remark]
) -> Content:
    """Write the checklist with its tables into the folder, and return it as a part of `index.html`."""
    values = checklist(pages, runs, warnings)
    tables = [table for table in values.values() if isinstance(table, Table) and table.rows]
    content = Content("checklist.jinja", values, tables)
    folder.mkdir(parents=True, exist_ok=True)
    for table in tables:
        write_table(table, folder)
    (folder / "index.md").write_text(markdown(content), encoding="utf-8")
    return content


def checklist(pages: Sequence[Page], runs: Sequence[StoredRun], warnings: Iterable[Remark]) -> dict[str, Any]:
    """What the template prints; command lines are without home folders and names of this user and machine."""
    states = Counter(run.status for run in runs)
    marks = Counter(mark for run in runs for mark in run.machine.marks)
    commands = list(dict.fromkeys(" ".join(run.machine.command.split()) for run in runs if run.machine.command))
    hide = name_hider()
    versions: dict[str, dict[str, None]] = {}
    for name, version in (pair for run in runs for pair in run.machine.versions):
        versions.setdefault(name, {})[version] = None
    imported = Counter(f"{run.imported.format} of {run.imported.origin}" for run in runs if run.imported)
    compute = _compute(runs)
    return {
        "number": len(runs),
        "states": ", ".join(f"{count:,} {status}" for status, count in sorted(states.items())),
        "left_out": sum(warning.kind in LEFT_OUT for warning in warnings),
        "kernels": _counts(Counter(", ".join(run.machine.kernels) or UNKNOWN for run in runs)),
        "simulated": sum(run.simulated_time for run in runs),
        "marks": [f"May not be repeatable, {counted(count, 'run')}: {text}" for text, count in marks.items()],
        "software": _counts(Counter(run.machine.software for run in runs)),
        "version": erlbench.__version__,
        "imported": [f"Made by other programs, {counted(n, 'run')}: {text}." for text, n in imported.items()],
        "commands": [*map(hide, commands[:MOST_COMMANDS])],
        "without_command": sum(not run.machine.command for run in runs),
        "cells": _cells(runs),
        "settings": _settings(runs),
        "without_settings": sum(not run.settings for run in runs),
        "comparisons": list(_comparisons(page for page in pages if not page.known)),
        "std": STD,
        "fewest": FEWEST_RUNS,
        "level": level_words(),
        "machines": "; ".join(dict.fromkeys(map(_machine, runs))),
        "compute": compute,
        "unknown": compute.rows[-1]["not_recorded"],
        "packages": ", ".join(f"{name} {' / '.join(versions[name])}" for name in sorted(versions)) or UNKNOWN,
        "licences": list(_licences(runs)),
    }


def _comparisons(pages: Iterable[Page]) -> Iterator[str]:
    for page in pages:
        tests = {one.tests for one in page.verdicts if one.case is not Case.NOT_COMPARABLE}
        family = f" Correction for {max(tests):,} tests." if tests and max(tests) > 1 else ""
        what = result(page.verdicts) + family if page.verdicts else "no algorithms are compared."
        yield f"{page.comparison.title}. Score: {page.comparison.score_words}. {what}"


def _cells(runs: Sequence[StoredRun]) -> Table:
    """Seeds, budgets and evaluations."""
    rows = []
    for group in everything(runs).groups:
        for cell in (one for one in group.run_sets if one.runs):
            asked = {
                title: " / ".join(dict.fromkeys(_text(run.asked.get(name)) for run in cell.runs))
                for title, name in ASKED.items()
            }
            seeds = ", ".join(map(str, dict.fromkeys(run.seed for run in cell.runs)))
            rows.append({
                "environment": group.env, "algorithm": cell.name, "budget": group.limit, "seeds": seeds,
                "finished_seeds": str(len(cell.seeds)),
                **{title.lower().replace(" ", "_"): value for title, value in asked.items()},
            })  # fmt: skip
    notes = {"Seeds": "given; a run's initial policy, exploration and start states follow from its seed."}
    return Table("runs", "What was run", columns_of(rows, notes=notes), rows)


def _settings(runs: Sequence[StoredRun]) -> Table:
    """All hyper-parameters by algorithm."""
    environments: dict[tuple[str, str, str, bool], dict[str, None]] = {}
    for run in runs:
        typed = overridden(run.config)
        for setting, value in run.settings.items():
            key = run.name, setting, setting_text(value), setting in typed
            environments.setdefault(key, {})[run.env] = None
    order = list(dict.fromkeys(key[:2] for key in environments))
    rows = [
        {"algorithm": name, "setting": setting, "value": value, "chosen_by": "the user" if typed else "the preset",
         "environments": ", ".join(envs)}
        for (name, setting, value, typed), envs in sorted(environments.items(), key=lambda one: order.index(one[0][:2]))
    ]  # fmt: skip
    notes = {
        "Chosen by": "the preset: a default of the algorithm, whose source its page names; of an algorithm that is not "
        "the suite's, nothing is known about defaults."
    }
    return Table("settings", "Settings", columns_of(rows, notes=notes), rows)


def _compute(runs: Sequence[StoredRun]) -> Table:
    """Hours of each cell and in total: by the clock of finished and other runs, of processors, and modelled."""
    cells: dict[tuple[str, str], list[StoredRun]] = {}
    for run in runs:
        cells.setdefault((run.env, run.name), []).append(run)
    rows = [_hours(*key, own) for key, own in cells.items()]
    rows.append({**_hours(TOTAL, "", runs), "machine": ""})
    notes = {
        "Hours": "by the clock, with evaluations, without pauses; several runs may have shared the machine.",
        "Not finished": "failed, interrupted, running, or never trained.",
        "Processor hours": "of all tasks of all these runs.",
        "Modelled hours": "of runs in simulated time: what the model says, and no computing.",
        "Not recorded": "runs whose computing time no file says; the hours are without them.",
    }
    return Table("compute", "Computing time", columns_of(rows, _print_hours, notes), rows)


def _hours(env: str, name: str, runs: Sequence[StoredRun]) -> dict[str, Any]:
    clock = {run.path: math.nan if run.simulated_time else hours(run) for run in runs}
    processor = {run.path: processor_hours(run) for run in runs}
    return {
        "environment": env, "algorithm": name, "runs": sum(run.done for run in runs),
        "hours": _sum(clock[run.path] for run in runs if run.done),
        "not_finished": sum(not run.done for run in runs),
        "their_hours": _sum(clock[run.path] for run in runs if not run.done),
        "processor_hours": _sum(processor.values()),
        "modelled_hours": _sum(hours(run) for run in runs if run.simulated_time),
        "not_recorded": sum(math.isnan(clock[path]) and math.isnan(processor[path]) for path in clock),
        "machine": "; ".join(dict.fromkeys(map(_machine, runs))),
    }  # fmt: skip


def hours(run: StoredRun) -> float:
    """Hours of a run, without pauses; where no total time is recorded, those of the training. NaN where nothing is."""
    seconds = run.total_time_s if math.isfinite(run.total_time_s) else run.train_time_s
    seconds -= run.paused_s
    return seconds / 3600 if math.isfinite(seconds) and seconds >= 0 else math.nan


def processor_hours(run: StoredRun) -> float:
    """Processor hours of all tasks; NaN where a task does not say."""
    if run.imported or not (run.path / TaskRow.file).is_file():
        return math.nan
    try:
        rows = read_columns(run.path, TaskRow, ignore)
    except ValueError:
        return math.nan
    seconds = np.array([], np.float64) if rows is None else np.asarray(rows["cpu_s"], np.float64)
    return float(seconds.sum()) / 3600 if len(seconds) else math.nan


def _sum(values: Iterable[float]) -> float:
    """The sum of those that are known; NaN where none is."""
    known = [value for value in values if not math.isnan(value)]
    return math.fsum(known) if known else math.nan


def _print_hours(value: float) -> str:
    return NONE if math.isnan(value) else str(value) if isinstance(value, int) else significant(value)


def _licences(runs: Sequence[StoredRun]) -> Iterator[str]:
    imported = Counter(
        f"{run.imported.format} of {run.imported.origin}, licence {run.imported.licence or UNKNOWN}"
        for run in runs if run.imported
    )  # fmt: skip
    yield from (f"Made by other programs, {counted(count, 'run')}: {text}." for text, count in imported.items())
    references = load_published().references
    sources = {one.source.name: one.source for cell in everything(runs).run_sets for one in references.of(cell)}
    for source in sources.values():
        yield f"Reference runs that the report shows, {source.name}: {source.licence or UNKNOWN}."


def _machine(run: StoredRun) -> str:
    """The machine of a run, and how much of it: processes, device."""
    machine = run.machine
    memory = f", {machine.memory} GiB memory" if machine.memory else ""
    used = f", processes: {machine.processes}" if machine.processes else ""
    return f"{machine.hardware}{memory}{used}" + (f", device {machine.device}" if machine.device else "")


def _text(value: object) -> str:
    return UNKNOWN if value in (None, "") else str(value)


def _counts(texts: Counter[str]) -> str:
    if len(texts) == 1:
        return next(iter(texts))
    return "; ".join(f"{text} ({counted(count, 'run')})" for text, count in texts.most_common())
