"""What a check says, and the files of a run that checks read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from erlbench.records.read import parse_rows
from erlbench.records.run import POLICY, ROWS, RunFiles, checked
from erlbench.records.schema import COUNTED, EvaluationRow, Row, header

if TYPE_CHECKING:
    import pandas as pd

AGREES, DIFFERS, UNKNOWN = "agrees", "differs", "cannot be verified"


@dataclass(frozen=True)
class Check:
    """The outcome of one check: `AGREES`, `DIFFERS` or `UNKNOWN`, and what was compared, or why it could not be."""

    name: str
    outcome: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Files:
    """A run's files as they are; rows are None where a file is missing or cannot be read."""

    path: Path
    config: dict[str, Any]
    status: dict[str, Any]
    meta: dict[str, Any]
    rows: Mapping[type[Row], pd.DataFrame | None]
    damage: tuple[str, ...]  # rows and files that were left out, each with the reason
    altered: tuple[str, ...]  # files that do not have the checksum of status.json, each with the reason

    @property
    def evaluations(self) -> pd.DataFrame:
        """The rows of eval.csv; none without the file."""
        import pandas as pd

        found = self.rows.get(EvaluationRow)
        return pd.DataFrame(columns=pd.Index(header(EvaluationRow))) if found is None else found

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
    def last(self) -> dict[str, Any]:
        """The last row of eval.csv; empty without one."""
        return {} if self.evaluations.empty else dict(self.evaluations.iloc[-1])


def load_files(path: Path) -> Files:
    """The files of a run, each read once; raises `UsageError` when there is no run."""
    folder = RunFiles(path)
    config, status = folder.readable_config("; give a run's folder"), folder.status()
    sums = status.get("files")
    sums = sums if isinstance(sums, dict) else {}
    content, altered = {}, []
    for name in (name for name in (*ROWS, POLICY) if (path / name).exists()):
        content[name], problem = checked(path / name, sums.get(name))
        altered += [f"{name} ({problem})"] if problem else []
    damage: list[str] = []
    rows: dict[type[Row], pd.DataFrame | None] = {}
    for row in COUNTED:
        if (data := content.get(row.file)) is None:
            continue
        whole = data if status.get("status") == "done" else data[: data.rfind(b"\n") + 1]  # a running one writes on
        try:
            rows[row] = parse_rows(whole, row, Path(row.file), damage.append)
        except ValueError as error:
            damage.append(f"{row.file}: {error}")
    return Files(
        path=path, config=config, status=status, meta=folder.meta(), rows=rows, damage=tuple(damage),
        altered=tuple(altered),
    )  # fmt: skip
