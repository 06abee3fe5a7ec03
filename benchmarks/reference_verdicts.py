"""The verdicts of the reference results: results/reference/verdict.json, and the sentences of the pages that quote it.

python -m benchmarks.reference_verdicts

A page quotes a verdict between two comments: `<!-- verdict: COMPARISON | FIRST | SECOND [| ENVIRONMENT] -->`, or
`<!-- verdict: headline -->`, and `<!-- end -->`. The program writes what stands between them: the sentence of the
verdict, and its details folded, or README's first results (headline.py). `<!-- computed: NAME -->` has a table or a
paragraph of page_tables.py.
"""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Mapping, Sequence

from benchmarks import page_tables, report_tables, time_tables
from benchmarks.headline import headline
from benchmarks.reference_comparisons import REFERENCE, ROOT, Asked, asked, comparison
from erlbench.reporting.verdict.judged import compared_pairs, verdicts_of
from erlbench.reporting.verdict.stored import FILE, write_verdicts
from erlbench.reporting.verdict.value import Verdict
from erlbench.reporting.verdict.words import details, sentence

DOCS = ROOT / "docs"
READ = ("studies", "time")  # pages of docs/ with blocks, beside those of docs/measurements
PAGES = [ROOT / "README.md", *(DOCS / f"{name}.md" for name in READ), *sorted((DOCS / "measurements").glob("*.md"))]
COMPUTED = page_tables.COMPUTED | report_tables.COMPUTED | time_tables.COMPUTED
QUOTED = re.compile(r"<!-- verdict: (.*?) -->\n.*?<!-- end -->", re.DOTALL)
BLOCK = re.compile(r"<!-- computed: (.*?) -->\n.*?<!-- end -->", re.DOTALL)


def verdicts(wanted: Asked) -> list[Verdict]:
    """The verdicts of one table, in the order of environments and pairs; all its tests share the level."""
    return verdicts_of(compared_pairs(comparison(wanted), [(one, two) for one, two in wanted["pairs"]]))


def filled(text: str, found: Mapping[str, Sequence[Verdict]]) -> str:
    """A page with the sentences of these verdicts."""

    def block(match: re.Match[str]) -> str:
        return f"<!-- verdict: {match[1]} -->\n{_said(match[1], found)}\n<!-- end -->"

    return QUOTED.sub(block, text)


def computed(text: str) -> str:
    """A page with the tables and sentences of `page_tables`."""
    return BLOCK.sub(lambda match: f"<!-- computed: {match[1]} -->\n\n{COMPUTED[match[1]]()}\n\n<!-- end -->", text)


def _said(what: str, found: Mapping[str, Sequence[Verdict]]) -> str:
    if what == "headline":
        return headline()
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
        page.write_text(computed(filled(page.read_text(encoding="utf-8"), found)), encoding="utf-8")


if __name__ == "__main__":
    main()
