"""What a check says, and the files of a run that checks read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from erlbench import files
from erlbench.renamed import read_config, read_run_rows

AGREES, DIFFERS, UNKNOWN = "agrees", "differs", "cannot be verified"
Row = dict[str, str]


@dataclass(frozen=True)
class Check:
    """The outcome of one check: `AGREES`, `DIFFERS` or `UNKNOWN`, and what was compared, or why it could not be."""

    name: str
    outcome: str
    text: str


@dataclass(frozen=True)
class Files:
    """A run's files as they are; rows are None where a file is missing or cannot be read."""

    path: Path
    config: dict[str, Any]
    status: dict[str, Any]
    meta: dict[str, Any]
    evaluations: list[Row] | None
    episodes: list[Row] | None
    tasks: list[Row] | None
    train: list[Row] | None

    @property
    def run(self) -> dict[str, Any]:
        """The table [run] of config.toml."""
        return self.table("run")

    @property
    def starts(self) -> list[dict[str, Any]]:
        """The starts that meta.json lists."""
        found = self.meta.get("starts")
        return [start for start in found if isinstance(start, dict)] if isinstance(found, list) else []

    def table(self, name: str) -> dict[str, Any]:
        """A table of config.toml; empty without one."""
        found = self.config.get(name)
        return found if isinstance(found, dict) else {}

    @property
    def last(self) -> Row:
        """The last row of eval.csv; empty without one."""
        return self.evaluations[-1] if self.evaluations else {}


def load_files(path: Path) -> Files:
    """The files of a run; raises `UsageError` when there is no run."""
    with files.readable(path / "config.toml", advice="; give a run's folder"):
        config = read_config(path / "config.toml")
    rows = (_rows(path / f"{name}.csv") for name in ("eval", "episodes", "tasks", "train"))
    return Files(path, config, files.read_object(path / "status.json"), files.read_object(path / "meta.json"), *rows)


def _rows(path: Path) -> list[Row] | None:
    try:
        return read_run_rows(path)
    except (OSError, ValueError):
        return None
