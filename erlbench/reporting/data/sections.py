"""The questions that a folder of results answers: sections.toml names which of its folders belong to each.

    [halfcheetah]
    title = "Who is best after a million steps?"
    folders = ["halfcheetah"]
    envs = ["HalfCheetah-v5"]     # optional, as is at: training steps at which the runs are cut

Runs in other folders stand on a page of their own, after the sections.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from erlbench.errors import UsageError
from erlbench.files import read_toml, readable
from erlbench.records.config import is_name
from erlbench.reporting.data.comparison import Comparison, everything
from erlbench.reporting.data.cut import Moment, cut_runs
from erlbench.reporting.data.remarks import Warn
from erlbench.reporting.data.runs import Run

FILE = "sections.toml"
QUESTION = "question"  # the name of a page begins with it
OTHERS = "All other runs"


@dataclass(frozen=True)
class Section:
    """One question: its title, the folders with its runs, and which of these runs, cut where."""

    key: str
    title: str
    folders: tuple[Path, ...]
    envs: tuple[str, ...] = ()  # empty: all
    at: Moment | None = None  # None: as they ended

    def of(self, runs: Sequence[Run], warn: Warn) -> list[Run]:
        """Its runs; none where no folder has some."""
        own = [run for run in runs if not self.folders_of(run).isdisjoint(self.folders)]
        own = [run for run in own if not self.envs or run.env in self.envs]
        return cut_runs(own, self.at, warn) if self.at and own else own

    @staticmethod
    def folders_of(run: Run) -> set[Path]:
        """All folders that a run lies in."""
        return set(run.path.resolve().parents)


def pages_of_runs(roots: Sequence[Path], runs: Sequence[Run], warn: Warn) -> list[Comparison]:
    """A comparison for each section that has runs, and one of all runs that lie in no section's folder, the last."""
    sections = [section for root in roots for section in _sections(root, warn)]
    pages = [
        replace(everything(own, section.title, section.at), name=f"{QUESTION}-{section.key}")
        for section in sections if (own := section.of(runs, warn))
    ]  # fmt: skip
    if not pages:
        return [everything(runs)]
    known = {folder for section in sections for folder in section.folders}
    left = [run for run in runs if known.isdisjoint(Section.folders_of(run))]
    return [*pages, everything(left, OTHERS)] if left else pages


def _sections(root: Path, warn: Warn) -> Iterator[Section]:
    """The sections of a folder of results; a mistake is named, and the section left out."""
    path = root / FILE
    if not path.exists():
        return
    try:
        with readable(path):
            tables = read_toml(path, inside=1)
    except UsageError as error:  # the report goes on without
        warn(f"{error}; the report has no sections")
        return
    for key, table in tables.items():
        try:
            yield _section(root, key, table)
        except (TypeError, ValueError) as error:
            warn(f"{path}: [{key[:40]}] is no section: {error}; left out")


def _section(root: Path, key: str, table: Any) -> Section:
    if not isinstance(table, dict) or not is_name(key):
        raise ValueError("a table whose name can be a folder's")
    title, at = table.get("title"), table.get("at")
    if not isinstance(title, str) or not title:
        raise ValueError("it has no title")
    if at is not None and not (isinstance(at, int) and at > 0):
        raise ValueError("at is no number of training steps")
    folders = tuple((root / folder).resolve() for folder in _texts(table, "folders"))
    return Section(key, title[:200], folders, _texts(table, "envs"), None if at is None else Moment(at))


def _texts(table: dict[str, Any], key: str) -> tuple[str, ...]:
    found = table.get(key, [])
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise ValueError(f"{key} is no list of texts")
    return tuple(found)
