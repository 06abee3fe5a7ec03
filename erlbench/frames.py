"""Run directories as tidy DataFrames: one row a run, an evaluation, an episode, a task, or a generation."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from erlbench.errors import UsageError
from erlbench.experiment.renamed import COLUMNS, read_config
from erlbench.files import read_json, read_text, reason

IDENTITY = ("env", "name", "seed")  # the first columns of every frame
RUN = ("algo", "preset", "workers", "eval_freq", "eval_episodes")  # of config.toml's table [run]
STATUS = ("status", "message", "timesteps", "total_timesteps", "train_time_s", "total_time_s")  # of status.json
LARGE = 2**30  # bytes of a CSV file


def run_folders(folders: Sequence[Path]) -> list[Path]:
    """The folders of runs at or below `folders`, in order; a `UsageError` for one that does not exist."""
    found: dict[Path, None] = {}
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"there is no folder {folder}; name one that `erlbench run` wrote")
        for path in sorted(folder.rglob("config.toml")):
            if ".old-" not in path.parent.name:
                found[path.parent] = None
    return list(found)


def cell_frame(runs: Sequence[Path]) -> pd.DataFrame:
    """One row a run; what its files do not say is missing."""
    return pd.DataFrame([_cell(path) for path in runs])


def rows_frame(runs: Sequence[Path], name: str, tuples: Mapping[str, type] | None = None) -> pd.DataFrame:
    """The rows of the CSV file `name` of all runs; columns in `tuples` hold numbers with spaces between them."""
    frames = []
    for path in runs:
        if (frame := _rows(path / name)) is None:
            continue
        config = _config(path)
        for position, column in enumerate(IDENTITY):
            frame.insert(position, column, config[column])
        for column, kind in (tuples or {}).items():
            frame[column] = [tuple(map(kind, str(text).split())) for text in frame[column]]
        frames.append(frame)
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=pd.Index(IDENTITY))


def _rows(path: Path) -> pd.DataFrame | None:
    """A CSV file of a run without its first comment and without a last line that is cut off; None without rows."""
    try:
        text = read_text(path, LARGE)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {reason(error)}") from error
    text = text[: text.rfind("\n") + 1]
    frame = pd.read_csv(io.StringIO(text), comment="#") if text.strip() else pd.DataFrame()
    return None if frame.empty else frame.rename(columns=COLUMNS)


def _config(path: Path) -> dict[str, Any]:
    try:
        config = read_config(path / "config.toml")
        run = config["run"]
        return {**run, **{column: run[column] for column in IDENTITY}, "settings": config.get("settings", {})}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path / 'config.toml'} cannot be read: {error}") from error


def _cell(path: Path) -> dict[str, Any]:
    config = _config(path)
    try:
        status = read_json(path / "status.json")
    except (OSError, ValueError):
        status = {}
    row = {column: config[column] for column in IDENTITY}
    row |= {column: config.get(column) for column in RUN}
    row |= {column: status.get(column) for column in STATUS}
    row |= {"score": status.get("return_mean"), "path": str(path)}
    return row | {f"settings.{key}": _plain(value) for key, value in config["settings"].items()}


def _plain(value: Any) -> Any:
    """A setting as a cell of a table."""
    return tuple(value) if isinstance(value, list) else None if value == "none" else value
