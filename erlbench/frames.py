"""Run directories as tidy DataFrames: one row a run, an evaluation, an episode, a task, or a generation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from erlbench import files
from erlbench.errors import UsageError, warn
from erlbench.records.read import read_rows
from erlbench.records.run import IDENTITY, RunFiles, imported_of, run_folders, shared_cores
from erlbench.records.schema import Row, header

RUN = ("algo", "preset", "workers", "eval_freq", "eval_episodes")  # of config.toml's table [run]
STATUS = (
    "status",
    "message",
    "timesteps",
    "total_timesteps",
    "train_time_s",
    "total_time_s",
    "paused_s",
)  # of status.json


def find_run_folders(folders: Sequence[Path]) -> list[Path]:
    """The folders of runs at or below `folders`, in order; a `UsageError` for one that does not exist."""
    found: dict[Path, None] = {}
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"there is no folder {folder}; name one that `erlbench run` wrote")
        found |= dict.fromkeys(run_folders(folder))
    return list(found)


def cell_frame(runs: Sequence[Path]) -> pd.DataFrame:
    """One row a run; what its files do not say is missing."""
    return pd.DataFrame([_cell(path) for path in runs])


def rows_frame(runs: Sequence[Path], row: type[Row]) -> pd.DataFrame:
    """The rows of one kind of all runs, each with its run; damage is left out with a warning.

    All columns of the schema are there. A `UsageError` for a file that no run writes.
    """
    frames = []
    for path in runs:
        if not (path / row.file).exists():
            continue
        with files.readable(path / row.file):
            rows = read_rows(path, row, warn)
        if rows is None or rows.empty:
            continue
        run = RunFiles(path).run_config()["run"]
        identity = pd.DataFrame({column: run[column] for column in IDENTITY}, index=rows.index)
        frames.append(pd.concat([identity, rows.drop(columns=[*IDENTITY], errors="ignore")], axis=1))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=pd.Index([*IDENTITY, *header(row)]))


def _cell(path: Path) -> dict[str, Any]:
    config, status = RunFiles(path).run_config(), RunFiles(path).status()
    row = {column: config["run"].get(column) for column in (*IDENTITY, *RUN)}
    row |= {column: status.get(column) for column in STATUS}
    score = status.get("return_mean") if status.get("status") == "done" else None  # else it is the last one so far
    row |= {"score": score, "path": str(path), "shared_cores": shared_cores(RunFiles(path).meta())}
    if about := imported_of(config):
        row |= {f"imported.{key}": value for key, value in about.table().items() if key != "sources"}
    return row | {f"settings.{key}": _plain(value) for key, value in config["settings"].items()}


def _plain(value: Any) -> Any:
    """A setting as a cell of a table."""
    return tuple(value) if isinstance(value, list) else None if value == "none" else value
