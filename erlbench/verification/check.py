"""What a check says, and the files of a run that checks read."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from erlbench.files import table_in
from erlbench.records.read import parse_rows
from erlbench.records.run import HASHED, RunFiles, checked, starts
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
        return starts(self.meta)

    def table(self, name: str) -> dict[str, Any]:
        """A table of config.toml; empty without one."""
        return dict(table_in(self.config, name))

    def known_settings(self, settings_type: type) -> dict[str, Any]:
        """Those of its settings that today's class of the algorithm has, lists as tuples."""
        known = {item.name for item in dataclasses.fields(settings_type)}
        return {name: tuple(value) if isinstance(value, list) else value
                for name, value in self.table("settings").items() if name in known}  # fmt: skip

    @property
    def last(self) -> dict[str, Any]:
        """The last row of eval.csv; empty without one."""
        return {} if self.evaluations.empty else dict(self.evaluations.iloc[-1])


def is_done(run: Files) -> bool:
    """Whether its status says that the run is finished."""
    return run.status.get("status") == "done"


def outcome(name: str, wrong: Sequence[str], text: str) -> Check:
    """`DIFFERS` with what is wrong, the first three named; `AGREES` with `text` where nothing is."""
    if not wrong:
        return Check(name, AGREES, text)
    more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
    return Check(name, DIFFERS, "; ".join(wrong[:3]) + more)


def load_files(path: Path) -> Files:
    """The files of a run, each read once; raises `UsageError` when there is no run."""
    folder = RunFiles(path)
    config, status = folder.readable_config("; give a run's folder"), folder.status()
    sums = table_in(status, "files")
    altered: list[str] = []
    damage: list[str] = []
    rows: dict[type[Row], pd.DataFrame | None] = {}
    kinds: dict[str, type[Row]] = {row.file: row for row in COUNTED}
    for name in (name for name in HASHED if os.path.lexists(path / name)):
        data, problem = checked(path / name, sums.get(name))
        altered += [f"{name} ({problem})"] if problem else []
        if (row := kinds.get(name)) is None:
            continue
        whole = data if status.get("status") == "done" else data[: data.rfind(b"\n") + 1]  # a running one writes on
        del data  # files may be large: of one at a time there is more than its rows
        try:
            rows[row] = parse_rows(whole, row, Path(name), damage.append)
        except ValueError as error:
            damage.append(f"{name}: {error}")
        del whole
    return Files(
        path=path, config=config, status=status, meta=folder.meta(), rows=rows, damage=tuple(damage),
        altered=tuple(altered),
    )  # fmt: skip
