"""What exports by run share: each run's identity, its folder in the export, and its rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from erlbench.api import Results
from erlbench.errors import UsageError
from erlbench.experiment.cells import folder_name


@dataclass(frozen=True)
class ExportedRun:
    """One run as other tools name it."""

    source: Path
    env: str
    name: str
    seed: int
    config: dict[str, Any]  # the row of `Results.cells` without what is missing

    @property
    def label(self) -> str:
        """`cem on Swimmer-v5, seed 0`."""
        return f"{self.name} on {self.env}, seed {self.seed}"

    @property
    def folder(self) -> Path:
        """The run's folder in an export, as in `results/`."""
        return Path(folder_name(self.env)) / self.name / f"seed-{self.seed:03d}"

    def rows(self, frame: str) -> pd.DataFrame:
        """Its rows of a frame of `Results`, such as `evaluations`; empty where there are none."""
        found: pd.DataFrame = getattr(Results((self.source,)), frame)
        return found


def exported(results: Results) -> Iterator[ExportedRun]:
    """The runs, each with a folder of its own; a `UsageError` where two have the same one."""
    seen: dict[Path, ExportedRun] = {}
    for row in results.cells.to_dict("records"):
        known = {str(key): value for key, value in row.items() if value is not None and value == value}
        run = ExportedRun(Path(row["path"]), row["env"], row["name"], int(row["seed"]), known)
        other = seen.setdefault(run.folder, run)
        if other is not run:
            raise UsageError(f"{other.source} and {run.source} are both {run.label}; export their folders one by one")
        yield run
