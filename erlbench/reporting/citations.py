"""What to cite for a set of runs: papers of algorithms and environments, and data that the report shows, as BibTeX."""

from __future__ import annotations

import tomllib
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import erlbench
from erlbench.envs.catalogue import LISTED, module_of, split_preset
from erlbench.errors import ErlbenchError
from erlbench.reporting.data.references import Source
from erlbench.reporting.data.runs import StoredRun

FILE = "references.bib"  # of a report
KINDS = {"conference-paper": ("inproceedings", "booktitle"), "article": ("article", "journal")}
ACCENTS = {"\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0308": '"', "\u030c": "v "}


@dataclass(frozen=True, kw_only=True)
class Citation:
    """A paper or a program, and what of ours it is the source of."""

    key: str
    kind: str
    title: str
    authors: tuple[str, ...]  # "Family, Given"
    year: int
    venue: str
    algorithms: tuple[str, ...] = ()
    environments: tuple[str, ...] = ()  # sources of the catalogue

    def bibtex(self) -> str:
        """The entry."""
        kind, place = KINDS.get(self.kind, ("misc", "howpublished"))
        values = {"title": f"{{{self.title}}}", "author": " and ".join(self.authors), place: self.venue}
        lines = [f"  {name} = {{{_latex(value)}}}," for name, value in values.items()]
        return "\n".join([f"@{kind}{{{self.key},", *lines, f"  year = {{{self.year}}},", "}"])


@cache
def known_citations() -> tuple[Citation, ...]:
    """All of erlbench/citations.toml."""
    data = tomllib.loads((files("erlbench") / "citations.toml").read_text(encoding="utf-8"))
    lists = ("authors", "algorithms", "environments")
    found = []
    for key, entry in data.items():
        values: dict[str, Any] = {name: tuple(value) if name in lists else value for name, value in entry.items()}
        found.append(Citation(key=key, **values))
    return tuple(found)


def write_references(path: Path, runs: Sequence[StoredRun], sources: Iterable[Source]) -> None:
    """Write BibTeX of what runs used into a file: the suite, algorithms, environments, and other people's runs."""
    path.write_text("\n\n".join(_entries(runs, sources)) + "\n", encoding="utf-8")


def _entries(runs: Sequence[StoredRun], others: Iterable[Source]) -> Iterator[str]:
    """The entries; algorithms and environments that are not the suite's are named in a comment."""
    yield (
        f"@misc{{erlbench,\n  title = {{erlbench: a benchmark suite for evolutionary reinforcement learning}},\n"
        f"  author = {{The erlbench authors}},\n  note = {{Version {erlbench.__version__}}},\n}}"
    )
    algorithms, sources = {run.algo for run in runs}, {_source(run.env) for run in runs}
    for one in known_citations():
        if algorithms & set(one.algorithms) or sources & set(one.environments):
            yield one.bibtex()
    for number, source in enumerate({source.name: source for source in others}.values(), 1):
        yield (
            f"@misc{{runs{number},\n  title = {{Reference runs: {_latex(source.name)}}},\n"
            f"  howpublished = {{github.com/{_latex(source.repository)}, commit {source.commit}}},\n}}"
        )
    cited = {name for one in known_citations() for name in (*one.algorithms, *one.environments)}
    unknown = sorted({run.algo for run in runs if run.algo not in cited})
    unknown += sorted({run.env for run in runs if _source(run.env) not in cited})
    if unknown:
        yield f"% Not the suite's, or its own; cite what they are from: {', '.join(unknown)}"


def _source(env: str) -> str:
    """The catalogue's source of an environment, as a report names it; empty for one that it does not list."""
    env = env.partition(" (")[0]
    if module_of(env):
        return ""
    try:
        row = LISTED.get(split_preset(env)[0])
    except ErlbenchError:
        return ""
    return row.source if row else ""


def _latex(text: str) -> str:
    """A text with accents and special characters as LaTeX writes them."""
    found = ""
    for character in unicodedata.normalize("NFD", text):
        if character in ACCENTS:
            found = f"{found[:-1]}{{\\{ACCENTS[character]}{found[-1]}}}"
        else:
            found += f"\\{character}" if character in "&%#_" else character
    return found
