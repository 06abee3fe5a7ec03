"""Run directories as tidy DataFrames: one row a run, an evaluation, an episode, a task, or a generation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from erlbench import files
from erlbench.errors import UsageError, warn
from erlbench.renamed import read_config, read_run_rows

IDENTITY: Mapping[str, type] = MappingProxyType({"env": str, "name": str, "seed": int})  # the first columns
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
MISSING = ("nan", "NaN")  # which `pd.to_numeric` refuses


def find_run_folders(folders: Sequence[Path]) -> list[Path]:
    """The folders of runs at or below `folders`, in order; a `UsageError` for one that does not exist."""
    found: dict[Path, None] = {}
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"there is no folder {folder}; name one that `erlbench run` wrote")
        found |= dict.fromkeys(files.run_folders(folder))
    return list(found)


def cell_frame(runs: Sequence[Path]) -> pd.DataFrame:
    """One row a run; what its files do not say is missing."""
    return pd.DataFrame([_cell(path) for path in runs])


def rows_frame(runs: Sequence[Path], name: str, tuples: Mapping[str, type] | None = None) -> pd.DataFrame:
    """The rows of the CSV file `name` of all runs; columns in `tuples` hold numbers with spaces between them."""
    frames, tuples = [], tuples or {}
    for path in runs:
        if (frame := _rows(path / name)) is None:
            continue
        config = _config(path)
        try:
            for column, kind in tuples.items():
                frame[column] = [tuple(map(kind, text.split())) for text in frame[column]]
        except KeyError as error:
            raise UsageError(f"{path / name} has no column {error}") from error
        except (ValueError, OverflowError) as error:
            raise UsageError(f"{path / name} cannot be read: {error}") from error
        identity = pd.DataFrame({column: config[column] for column in IDENTITY}, index=frame.index)
        others = frame.drop(columns=[*IDENTITY], errors="ignore")
        frames.append(
            pd.concat(
                [identity, others.apply(lambda column: column if column.name in tuples else _numbers(column))], axis=1
            )
        )
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=pd.Index([*IDENTITY]))


def _rows(path: Path) -> pd.DataFrame | None:
    """A CSV file of a run as a frame of texts; None without rows."""
    if not path.exists():
        return None
    with files.readable(path):
        rows = read_run_rows(path, warn)
    return pd.DataFrame(rows) if rows else None


def _numbers(column: pd.Series) -> pd.Series:
    """A column of texts as numbers, empty ones and `nan` as NaN, if that is what they all are."""
    try:
        return pd.to_numeric(column.mask(column.isin(MISSING)))
    except (ValueError, TypeError, OverflowError):
        return column


def _config(path: Path) -> dict[str, Any]:
    with files.readable(path / "config.toml"):
        config = read_config(path / "config.toml")
    run, settings = config.get("run"), config.get("settings", {})
    if not isinstance(run, dict) or not isinstance(settings, dict) or not all(
        type(run.get(column)) is kind for column, kind in IDENTITY.items()
    ):  # fmt: skip
        raise UsageError(f"{path / 'config.toml'} is not of a run: its table [run] lacks env, name or seed")
    return {**run, "settings": settings}


def _cell(path: Path) -> dict[str, Any]:
    config = _config(path)
    status = files.read_object(path / "status.json")
    row = {column: config[column] for column in IDENTITY}
    row |= {column: config.get(column) for column in RUN}
    row |= {column: status.get(column) for column in STATUS}
    score = status.get("return_mean") if status.get("status") == "done" else None  # else it is the last one so far
    row |= {"score": score, "path": str(path)}
    return row | {f"settings.{key}": _plain(value) for key, value in config["settings"].items()}


def _plain(value: Any) -> Any:
    """A setting as a cell of a table."""
    return tuple(value) if isinstance(value, list) else None if value == "none" else value
