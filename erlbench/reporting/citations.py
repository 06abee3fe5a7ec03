"""What to cite: BibTeX of the suite, and of the algorithms, environments and other people's runs of a report."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import erlbench
from erlbench.envs.catalogue import LISTED, find_module, split_preset
from erlbench.errors import ErlbenchError
from erlbench.reporting.documents import escape_latex

FILE = "references.bib"  # the packaged file, and a report's


def read_entries() -> list[tuple[set[str], str]]:
    """The packaged entries: the algorithms and sources of environments that each is cited for, and its BibTeX."""
    text = (files("erlbench.reporting") / FILE).read_text(encoding="utf-8")
    entries = []
    for block in text.rstrip("\n").split("\n\n")[1:]:
        uses = re.findall(r"^% \w+: (.*)$", block, re.MULTILINE)
        entries.append(({*"; ".join(uses).split("; ")}, block[block.index("@") :]))
    return entries


def write_references(path: Path, runs: Sequence[Any], sources: Iterable[Any]) -> None:
    """Write BibTeX of the suite, and of the algorithms, environments and other people's runs that a report shows.

    A comment names the algorithms and environments that are not the suite's.
    """
    used = {algo: algo for algo in sorted({run.algo for run in runs})}
    used |= {env: _source(env) for env in sorted({run.env for run in runs})}
    entries = read_entries()
    suite = (
        f"@misc{{erlbench,\n  title = {{erlbench: a benchmark suite for evolutionary reinforcement learning}},\n"
        f"  author = {{The erlbench authors}},\n  note = {{Version {erlbench.__version__}}},\n}}"
    )
    cited = [suite, *(entry for names, entry in entries if names & {*used.values()})]
    for number, source in enumerate({row.source: row for row in sources}.values(), 1):
        cited.append(
            f"@misc{{runs{number},\n  title = {{Reference runs: {escape_latex(source.source)}}},\n"
            f"  howpublished = {{github.com/{escape_latex(source.repository)}, commit {source.commit}}},\n}}"
        )
    listed = set[str]().union(*(names for names, _ in entries))
    if unknown := [" ".join(name.split()) for name, source in used.items() if source not in listed]:
        cited.append(f"% Not the suite's, or its own; cite what they are from: {', '.join(unknown)}")
    path.write_text("\n\n".join(cited) + "\n", encoding="utf-8")


def _source(env: str) -> str:
    """The catalogue's source of an environment, as a report names it; empty for one that it does not list."""
    env = env.partition(" (")[0]
    if find_module(env):
        return ""
    try:
        row = LISTED.get(split_preset(env)[0])
    except ErlbenchError:
        return ""
    return row.source if row else ""
