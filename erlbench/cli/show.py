"""`erlbench show`: settings, status and last scores of a run, read from its files."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from erlbench import files
from erlbench.cli.options import options_command
from erlbench.cli.tables import duration, print_table, setting_texts
from erlbench.errors import UsageError, warn
from erlbench.launch.queue import slurm_jobs
from erlbench.options import argument, option
from erlbench.records.admission import admission_marks
from erlbench.records.read import read_columns
from erlbench.records.run import CONFIG, NEVER_TRAINED, RunFiles, run_folders, shared_cores, without_runs
from erlbench.records.schema import EvaluationRow
from erlbench.records.training import WINDOW
from erlbench.running.checkpoint import continuation
from erlbench.running.results import RunDirectory
from erlbench.work.identity import fingerprint, last_recorded
from erlbench.work.repeats import repeats_of, scores_in_words

PAUSE = 5.0  # seconds between two looks
TRAINING = "training"
UPDATES = ("critic", "actor")
SHOWN = ("timesteps", "episodes", "generation", "train_time_s", "return_mean", "return_std")


@dataclass(frozen=True, kw_only=True)
class ShowOptions:
    """What is shown."""

    runs: tuple[Path, ...] = argument("RUN...")
    last: int = option(5, "evaluations to show", short="-n", minimum=1)
    follow: bool = option(
        False, "wait for the first run, then show all every few seconds until none is active", short="-f"
    )


@options_command(ShowOptions)
def command(options: ShowOptions) -> None:
    """Show settings, status and last scores of the run in the folder RUN, or the state of all runs below RUN...

    \b
    Examples:
      erlbench show results/Walker2d-v5/aes-rl/seed-000
      erlbench show results
      erlbench show first-machine second-machine --follow
      erlbench show study.zip
    """
    from erlbench.bundle import open_bundles

    with open_bundles(options.runs) as folders:
        if options.follow:
            _wait(folders)
        _show(folders, options.last, options.follow)


def _wait(folders: Sequence[Path]) -> None:
    """Return once each folder holds a run, or jobs in Slurm's queue will write some."""
    told: set[Path] = set()
    while missing := [folder for folder in folders if not run_folders(folder)]:
        for folder in missing:
            if folder.is_file():
                raise UsageError(without_runs(folder))
            if folder not in told and not slurm_jobs(folder):
                click.echo(f"waiting for the first run in {folder}", err=True)
                told.add(folder)
        if any(map(slurm_jobs, folders)):
            return
        time.sleep(PAUSE)


def _show(runs: Sequence[Path], last: int, follow: bool) -> None:
    while True:
        if follow and sys.stdout.isatty():
            click.clear()
        one = len(runs) == 1 and (runs[0] / CONFIG).is_file()
        goes_on = _show_run(runs[0], last) if one else _show_all(runs)
        if not (follow and goes_on):
            return
        time.sleep(PAUSE)


def _show_all(folders: Sequence[Path]) -> bool:
    """One row for each run below the folders; whether any of them runs now, or waits in Slurm's queue."""
    jobs = sum((slurm_jobs(folder) for folder in folders), Counter[str]())
    states: Counter[str] = Counter()
    rows: list[tuple[Any, ...]] = []
    for folder in folders:
        found = _rows(folder)
        if not found and not jobs:
            raise UsageError(without_runs(folder))
        states.update(row[1] for row in found)
        rows += [(folder / row[0] if len(folders) > 1 else row[0], *row[1:]) for row in found]
    columns = ("run", "status", "steps", TRAINING, "last score", "message")
    shown = [
        index
        for index in range(len(columns))
        if index in (0, 1, 2, 4) or any(row[index] not in ("", "-") for row in rows)
    ]
    print_table("", [columns[index] for index in shown], [[row[index] for index in shown] for row in rows])
    if columns.index(TRAINING) in shown:
        click.echo(f"{TRAINING}: mean return of the last {WINDOW} training episodes.")
    click.echo(_counts(states) or "No run has begun.")
    if jobs:
        click.echo(f"Jobs in Slurm: {_counts(jobs)}")
    return "running" in states or bool(jobs)


def _rows(folder: Path) -> list[tuple[Any, ...]]:
    """Place below `folder`, status, steps, training return, last score and message of each run."""
    found = []
    for path in run_folders(folder):
        status = _status(path)
        returns = [_number(status.get(name)) for name in ("training_return", "return_mean")]
        found.append((path.relative_to(folder), _word(status), _steps(status), *returns, status.get("message", "")))
    return found


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {state}" for state, count in counts.items())


def _show_run(run: Path, last: int) -> bool:
    """Settings, status and evaluations of one run; whether it runs now."""
    config, status, meta = RunFiles(run).readable_config(), _status(run), RunFiles(run).meta()
    for table in ("run", "settings", "env_settings"):
        if table == "env_settings" and not config.get(table):
            continue
        print_table(table.capitalize(), ("name", "value"), setting_texts(config.get(table, {})))
        click.echo()
    facts: list[tuple[str, Any]] = [("status", _word(status)), ("steps", _steps(status))]
    simulated = files.table_in(config, "run").get("simulated_time") is True
    shared = " on cores that other cells used, too" if shared_cores(meta) and not simulated else ""
    facts += [
        (name.replace("_s", "").replace("_", " "), duration(status[name]) + shared)
        for name in ("train_time_s", "total_time_s")
        if isinstance(status.get(name), (int, float))
    ]
    if status.get("training_return") is not None:
        facts.append(("training return", f"{_number(status['training_return'])} (last {WINDOW} training episodes)"))
    facts += [(name, status[name]) for name in ("message", "updated") if status.get(name)]
    facts += [(name, meta[name]) for name in ("cpu", "cores", "commit") if meta.get(name)]
    facts.append(("identity", fingerprint(last_recorded(meta))[:12] or "unknown"))
    facts += [("marked", mark) for mark in admission_marks(meta)]
    if repeats := repeats_of(run):
        facts.append((f"run {len(repeats) + 1} of this seed", f"before it {scores_in_words(repeats)}"))
    rows = _last_evaluations(run, last)
    facts += _updates_per_step(rows[-1]) if rows else []
    print_table("Status", ("name", "value"), facts)
    click.echo()
    if rows:
        shown = [name for name in SHOWN if not all(np.isnan(row[name]) for row in rows)]
        print_table("Last evaluations", shown, [[_number(row[name]) for name in shown] for row in rows])
    else:
        click.echo("No evaluation yet.")
    return status.get("status") == "running"


def _status(run: Path) -> dict[str, Any]:
    """status.json; a run that says `running` but that nobody holds was killed, and one that is held runs."""
    directory = RunDirectory(run)
    status = directory.status()
    if status.get("status") == "done":
        return status
    if directory.held():
        status |= {"status": "running", "message": ""}
    elif status.get("status") == "running":
        status |= {"status": "killed", "message": continuation(directory)}
    return status


def _word(status: dict[str, Any]) -> str:
    """The status itself, in a word or three."""
    word = status.get("status")
    if word == "done" and status.get("never_trained") is True:
        return NEVER_TRAINED
    return word if isinstance(word, str) and word else "unknown"


def _last_evaluations(run: Path, last: int) -> list[dict[str, float]]:
    """The last rows of eval.csv, of which the columns that are shown and those of updates."""
    path, rows = run / EvaluationRow.file, None
    if path.exists():
        with files.readable(path):
            rows = read_columns(run, EvaluationRow, warn)
    if rows is None:
        return []
    names = (*SHOWN, *(f"{kind}_updates" for kind in UPDATES))
    return [dict(zip(names, row, strict=True)) for row in zip(*(rows[name][-last:] for name in names), strict=True)]


def _updates_per_step(row: Mapping[str, float]) -> list[tuple[str, str]]:
    """Gradient updates per training step at an evaluation, where there are any."""
    rates = {kind: row[f"{kind}_updates"] / max(1, row["timesteps"]) for kind in UPDATES}
    return [(f"{kind} updates per step", f"{rate:.2f}") for kind, rate in rates.items() if rate > 0]


def _steps(status: dict[str, Any]) -> str:
    """Training steps so far and the budget, which says nothing of a run that its number of generations has ended."""
    steps, budget, minutes = (status.get(name) for name in ("timesteps", "total_timesteps", "total_minutes"))
    ended = status.get("status") == "done" and isinstance(steps, int) and isinstance(budget, int) and steps < budget
    without = ended or (budget is None and minutes is not None)
    text = _number(steps) if without else f"{_number(steps)} of {_number(budget)}"
    trained = status.get("train_time_s")
    if isinstance(minutes, int | float) and isinstance(trained, int | float):
        text += f", {trained / 60:,.2f} of {minutes:g} modelled minutes"
    return text


def _number(value: Any) -> str:
    """A number of a file as it reads well, anything else as it is."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return "-" if value is None else str(value)
    return f"{number:,.0f}" if number.is_integer() else f"{number:,.2f}"
