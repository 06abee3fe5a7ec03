"""`erlbench show`: settings, status and last scores of a run, read from its files."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

import click
import pandas as pd

from erlbench import files
from erlbench.bundle import open_bundles
from erlbench.cli.options import options_command
from erlbench.cli.tables import duration, print_table, setting_texts
from erlbench.errors import warn
from erlbench.files import Table
from erlbench.options import argument, option
from erlbench.records.read import final_status, read_rows
from erlbench.records.run import CONFIG, META, NEVER_TRAINED, RunFiles, admission_marks, require_runs, shared_cores
from erlbench.records.schema import EvaluationRow
from erlbench.records.training import WINDOW
from erlbench.running.folder import RunFolder, lease_holder

TRAINING = "training"
COLUMNS = ("run", "status", "steps", TRAINING, "last score", "message")
OPTIONAL = (TRAINING, "message")  # columns that are left out where they are empty
UPDATES = ("critic", "actor")
SHOWN = ("timesteps", "episodes", "generation", "train_time_s", "return_mean", "return_std")


@dataclass(frozen=True)
class ShowOptions:
    """What is shown."""

    runs: tuple[Path, ...] = argument("RUN...")
    last: int = option(5, "evaluations to show", short="-n", minimum=1)


@options_command(ShowOptions)
def command(options: ShowOptions) -> None:
    """Show settings, status and last scores of the run in the folder RUN, or the state of all runs below RUN...

    \b
    Examples:
      erlbench show results/Walker2d-v5/aes-rl/seed-000
      erlbench show results
      watch erlbench show first-machine second-machine
      erlbench show study.zip
    """
    with open_bundles(options.runs) as folders:
        if len(folders) == 1 and (folders[0] / CONFIG).is_file():
            _show_run(folders[0], options.last)
            return
        rows: list[tuple[Any, ...]] = []
        for folder in folders:
            for run in require_runs(folder):
                status = _status(run)
                scores = [_number(status.get(name)) for name in ("training_return", "return_mean")]
                place = run if len(folders) > 1 else run.relative_to(folder)
                rows.append((place, status["status"], _steps(status), *scores, status.get("message", "")))
        table = pd.DataFrame(rows, columns=pd.Index(COLUMNS))
        table = table.drop(columns=[name for name in OPTIONAL if table[name].isin(["", "-"]).all()])
        print_table("", [*table], table.to_numpy().tolist())
        if TRAINING in table:
            click.echo(f"{TRAINING}: mean return of the last {WINDOW} training episodes.")
        click.echo(", ".join(f"{count} {state}" for state, count in Counter(row[1] for row in rows).items()))


def _show_run(run: Path, last: int) -> None:
    """Settings, status and evaluations of one run."""
    folder, status = RunFiles(run), _status(run)
    config, meta = folder.readable_config(), folder.meta()
    for edit in folder.list_edits(CONFIG, META):
        warn(edit)
    for table in ("run", "settings", "env_settings"):
        if values := files.table_in(config, table):
            print_table(table.capitalize(), ("name", "value"), setting_texts(values))
    simulated = files.table_in(config, "run").get("simulated_time") is True
    shared = " on cores that other cells used, too" if shared_cores(meta) and not simulated else ""
    facts = {"status": status["status"], "steps": _steps(status)}
    for name in ("train_time_s", "total_time_s"):
        if isinstance(seconds := status.get(name), int | float):
            facts[name[:-2].replace("_", " ")] = duration(seconds) + shared
    if status.get("training_return") is not None:
        facts["training return"] = f"{_number(status['training_return'])} (last {WINDOW} training episodes)"
    facts |= {name: status.get(name) for name in ("message", "updated")}
    facts |= {name: meta.get(name) for name in ("cpu", "cores", "commit")}
    facts["marked"] = "; ".join(admission_marks(meta))
    with files.readable(path := run / EvaluationRow.file):
        rows = read_rows(run, EvaluationRow, warn) if path.exists() else None
    if rows is not None and not rows.empty:
        for kind in UPDATES:  # gradient updates per training step
            if (rate := rows[f"{kind}_updates"].iloc[-1] / max(1, rows["timesteps"].iloc[-1])) > 0:
                facts[f"{kind} updates per step"] = f"{rate:.2f}"
    print_table("Status", ("name", "value"), [(name, value) for name, value in facts.items() if value])
    if rows is None or rows.empty:
        click.echo("\nNo evaluation yet.")
        return
    shown = rows[[*SHOWN]].tail(last).dropna(axis=1, how="all").map(_number)
    print_table("Last evaluations", [*shown], shown.to_numpy().tolist())


def _status(run: Path) -> Table:
    """status.json; a run with status `running` was killed if no process holds its lease, else it runs."""
    directory = RunFolder(run)
    status = final_status(directory)
    word = str(status.get("status") or "unknown")
    if word == "done":
        return status | ({"status": NEVER_TRAINED} if status.get("never_trained") is True else {})
    if lease_holder(directory.path):
        return status | {"status": "running", "message": ""}
    if word == "running":
        return status | {"status": "killed", "message": "the same command continues it"}
    return status | {"status": word}


def _steps(status: Table) -> str:
    """Training steps so far and, until the run is done, its budget."""
    steps, budget, minutes = (status.get(name) for name in ("timesteps", "total_timesteps", "total_minutes"))
    is_done = status["status"] in ("done", NEVER_TRAINED)
    text = _number(steps) if is_done or budget is None else f"{_number(steps)} of {_number(budget)}"
    trained = status.get("train_time_s")
    if isinstance(minutes, int | float) and isinstance(trained, int | float):
        text += f", {trained / 60:,.2f} of {minutes:g} modelled minutes"
    return text


def _number(value: Any) -> str:
    """A number of a file as it reads well, anything else as it is."""
    if not isinstance(value, Real):
        return "-" if value is None else str(value)
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"
