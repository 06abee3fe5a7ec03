"""The comparisons of results/reference/comparisons.toml: which runs, judged by which score."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from erlbench.reporting.data.comparison import Comparison, Group, everything
from erlbench.reporting.data.cut import Moment, cut_runs
from erlbench.reporting.data.runs import Run, find_runs
from erlbench.reporting.data.score import AUTO
from erlbench.reporting.data.sides import read_sides
from erlbench.reporting.options import ReportOptions

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "results" / "reference"
Asked = Mapping[str, Any]  # a table of comparisons.toml


def ignore(said: object) -> None:
    """Other remarks are those of the report."""


def asked() -> dict[str, Asked]:
    """The tables of comparisons.toml."""
    return tomllib.loads((REFERENCE / "comparisons.toml").read_text(encoding="utf-8"))


def comparison(wanted: Asked) -> Comparison:
    """The runs of one table, judged by one score."""
    folders = [REFERENCE / name for name in wanted["folders"]]
    runs = _runs([folder for folder in folders if folder.is_dir()], wanted)
    names, envs = wanted.get("names"), wanted.get("envs")
    runs = [run for run in runs if (not names or run.name in names) and (not envs or run.env in envs)]
    at = Moment(float(wanted["at"])) if "at" in wanted else None
    page = everything(cut_runs(runs, at, ignore) if at else runs, at=at)
    page = ReportOptions(metric=wanted.get("metric", AUTO)).judged(page)
    if envs:
        page = replace(page, groups=tuple(sorted(page.groups, key=lambda group: envs.index(group.env))))
    return replace(page, groups=tuple(filter(_several, page.groups)))


def _several(group: Group) -> bool:
    return len(group.run_sets) > 1


def _runs(folders: Sequence[Path], wanted: Asked) -> list[Run]:
    if wanted.get("apart"):
        return [run for side in read_sides(folders, ignore) for run in side.renamed]
    return find_runs(folders, ignore)
