"""Folders of results side by side: two commits, two machines, two people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from erlbench.bundle import strip_unpacked
from erlbench.errors import UsageError
from erlbench.reporting.data.remarks import Warn
from erlbench.reporting.data.runs import find_runs


def read_sides(folders: Sequence[Path], warn: Warn) -> pd.DataFrame:
    """The runs of all folders under their own names, with the short name of each run's folder as `side`.

    Raises `UsageError` for fewer than two folders, the same one twice, or no run.
    """
    if len(folders) < 2:
        raise UsageError("--side-by-side takes two folders of results or more: erlbench report A B --side-by-side")
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise UsageError("--side-by-side was given the same folder twice; name folders with different runs")
    sides = zip(_names(folders), folders, strict=True)
    return pd.concat([find_runs([folder], warn).assign(side=name) for name, folder in sides], ignore_index=True)


def _names(folders: Sequence[Path]) -> list[str]:
    """As few of the last parts of each path as distinguish the folders."""
    parts = [Path(strip_unpacked(str(folder.resolve()))).parts for folder in folders]
    for length in range(1, max(map(len, parts)) + 1):
        names = ["/".join(one[-length:]) for one in parts]
        if len(set(names)) == len(names):
            return names
    return [f"{'/'.join(one)} ({number})" for number, one in enumerate(parts, 1)]  # bundles of one name
