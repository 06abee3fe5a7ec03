"""The verdicts of the reference results: results/reference/verdict.json, and the sentences of the pages that quote it.

python -m benchmarks.reference_verdicts

A page quotes a verdict between two comments: `<!-- verdict: COMPARISON | FIRST | SECOND [| ENVIRONMENT] -->`, or
`<!-- verdict: headline -->`, and `<!-- end -->`. The program writes what stands between them: the sentence of the
verdict, and its details folded.
"""

from __future__ import annotations

import html
import re
import textwrap
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
from erlbench.reporting.statistics.significance import Summary
from erlbench.reporting.verdict.judged import compared_pairs, verdicts_of
from erlbench.reporting.verdict.rule import Case
from erlbench.reporting.verdict.stored import FILE, write_verdicts
from erlbench.reporting.verdict.value import Verdict
from erlbench.reporting.verdict.words import details, sentence

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "results" / "reference"
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", DOCS / "planning.md", DOCS / "studies.md", *sorted((DOCS / "measurements").glob("*.md"))]
QUOTED = re.compile(r"<!-- verdict: (.*?) -->\n.*?<!-- end -->", re.DOTALL)
PUBLISHED = re.compile(r"<!-- published -->\n.*?<!-- end -->", re.DOTALL)
PAPER = {
    "HalfCheetah-v5": (2940, 353),
    "Hopper-v5@paper": (1055, 14),
    "Swimmer-v5": (351, 9),
    "Walker2d-v5@paper": (928, 50),
}  # mean and std of ten runs, CEM-RL's paper
NAMES = {"aes-rl": "AES-RL", "cem-rl": "CEM-RL", "sac": "SAC", "td3": "TD3"}
WORDS = {2: "two", 3: "three", 4: "four", 5: "five"}
Asked = Mapping[str, Any]  # a table of comparisons.toml


def ignore(said: object) -> None:
    """Other remarks are those of the report."""


def asked() -> dict[str, Asked]:
    """The tables of comparisons.toml."""
    return tomllib.loads((REFERENCE / "comparisons.toml").read_text(encoding="utf-8"))


def verdicts(wanted: Asked) -> list[Verdict]:
    """The verdicts of one table, in the order of environments and pairs; all its tests share the level."""
    return verdicts_of(compared_pairs(comparison(wanted), [(one, two) for one, two in wanted["pairs"]]))


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


def headline(found: Sequence[Verdict]) -> str:
    """README's first sentence of results: what the four algorithms with gradients of twin critics score."""
    sides = {side.name: side for one in found for side in (one.first, one.second)}
    least = min(side.simulator_steps for side in sides.values())
    order = sorted(sides.values(), key=lambda side: -max(side.scores))
    words = [
        f"{NAMES[side.name]} scores {min(side.scores):,.0f} to {max(side.scores):,.0f}"
        + (
            f" with {side.simulator_steps / least:.1f} times the simulator steps"
            if side.simulator_steps > least
            else ""
        )
        for side in order
    ]
    decided = [one for one in found if one.case is Case.DECIDED]
    seeds = sorted({len(side.scores) for side in order})
    of = f"{WORDS[seeds[0]]} to {WORDS[seeds[-1]]}" if len(seeds) > 1 else WORDS[seeds[0]]
    which = f"{len(decided)} of {len(found)} pairs are decided" if decided else "which of them is better is undecided"
    return (
        f"After 300,000 training steps on HalfCheetah-v5, {', '.join(words[:-1])}, and {words[-1]}; with {of} seeds "
        f"each, {which}."
    )


def filled(text: str, found: Mapping[str, Sequence[Verdict]]) -> str:
    """A page with the sentences of these verdicts."""

    def block(match: re.Match[str]) -> str:
        return f"<!-- verdict: {match[1]} -->\n{_said(match[1], found)}\n<!-- end -->"

    beside = f"<!-- published -->\n\n{published_table()}\n\n<!-- end -->"
    return PUBLISHED.sub(lambda _: beside, QUOTED.sub(block, text))


def published_table() -> str:
    """CEM's means beside those of its paper: the 95 % interval of the difference (Welch), of summaries of ten runs."""
    lines = ["| task | ours | published | difference |", "|---|---:|---:|---:|"]
    for group in comparison(asked()["cem"]).groups:
        run_set = group.run_set("cem")
        if run_set is None or group.env not in PAPER:
            continue
        ours, paper = Summary.of(run_set.scores), Summary(*PAPER[group.env], runs=10)
        gap, low, high = ours.minus(paper)
        cells = (f"{ours.mean:,.0f}", f"{paper.mean:,.0f}", f"{gap:,.0f} [{low:,.0f}, {high:,.0f}]")
        lines.append(f"| {group.env} | {' | '.join(cells).replace('-', '−')} |")
    return "\n".join(lines)


def _said(what: str, found: Mapping[str, Sequence[Verdict]]) -> str:
    if what == "headline":
        return _wrapped(headline(found["halfcheetah-300k"]))
    name, first, second, *env = (part.strip() for part in what.split("|"))
    (one,) = (
        one for one in found[name]
        if (one.first.name, one.second.name) == (first, second) and (not env or one.env == env[0])
    )  # fmt: skip
    behind = _wrapped(html.escape(" ".join(details(one)), quote=False))
    return f"{_wrapped(sentence(one))}\n\n<details><summary>Numbers</summary>\n{behind}\n</details>\n"


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 120, break_on_hyphens=False)


def main() -> None:
    """Write verdict.json and the pages."""
    found = {name: verdicts(wanted) for name, wanted in asked().items()}
    write_verdicts(REFERENCE / FILE, found)
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8"), found), encoding="utf-8")


if __name__ == "__main__":
    main()
