"""Folders of results side by side: two commits, two machines, two people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from erlbench.bundle import strip_unpacked
from erlbench.errors import UsageError
from erlbench.reporting.data.comparison import RunSet
from erlbench.reporting.data.remarks import Warn
from erlbench.reporting.data.runs import StoredRun, find_runs


@dataclass(frozen=True)
class Side:
    """One folder: its name in tables, and its runs under their own names."""

    name: str
    runs: tuple[StoredRun, ...]

    @property
    def renamed(self) -> list[StoredRun]:
        """The runs with the side in their names, so that those of all sides can stand on one page."""
        return [replace(run, name=f"{run.name} [{self.name}]") for run in self.runs]

    def run_set(self, env: str, total_timesteps: int, name: str) -> RunSet | None:
        """The runs of an algorithm in an environment with a budget; None without any."""
        runs = tuple(run for run in self.runs if run.key[:2] == (env, name) and run.total_timesteps == total_timesteps)
        planned = len({run.seed for run in runs})
        return RunSet(env=env, name=name, planned=planned, runs=runs) if runs else None


def read_sides(folders: Sequence[Path], warn: Warn) -> list[Side]:
    """The sides of a comparison. Raises `UsageError` for fewer than two folders, the same one twice, or no run."""
    if len(folders) < 2:
        raise UsageError("--side-by-side takes two folders of results or more: erlbench report A B --side-by-side")
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise UsageError("--side-by-side was given the same folder twice; name folders with different runs")
    return [Side(name, tuple(find_runs([folder], warn))) for name, folder in zip(_names(folders), folders, strict=True)]


def _names(folders: Sequence[Path]) -> list[str]:
    """As few of the last parts of each path as distinguish the folders."""
    parts = [Path(strip_unpacked(str(folder.resolve()))).parts for folder in folders]
    for length in range(1, max(map(len, parts)) + 1):
        names = ["/".join(one[-length:]) for one in parts]
        if len(set(names)) == len(names):
            return names
    return [f"{'/'.join(one)} ({number})" for number, one in enumerate(parts, 1)]  # bundles of one name
