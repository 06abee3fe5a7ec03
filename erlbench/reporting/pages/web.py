"""`index.html`: all pages of the report as one file that needs nothing else, neither network nor server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from erlbench.reporting.documents import html
from erlbench.reporting.documents.html import Place
from erlbench.reporting.documents.model import Document
from erlbench.reporting.pages.page import Page

OVERVIEW = "overview"


def write_web_page(
    path: Path, overview: Document, pages: Sequence[Page], shared: Mapping[str, Any], more: Mapping[str, Document]
) -> None:
    """Write the page; `shared` is what its charts share (`ChartData.shared`), `more` are documents by their names."""
    sections = {Place(OVERVIEW, "", _target, "Overview"): overview}
    studies = Counter(page.comparison.study for page in pages)
    for one, document in ((page.comparison, page.document) for page in pages):
        twice = one.study and studies[one.study] > 1
        title = one.name if twice else one.study or one.title  # the name has the profile
        sections[Place(one.name, f"{one.name}/", _target, title)] = document
    for name, document in more.items():
        sections[Place(name, f"{name}/", _target, name.capitalize())] = document
    path.write_text(html.page(sections, shared), encoding="utf-8")


def _target(target: str) -> str:
    """Where a link of a Markdown page leads to in the one page."""
    if "://" in target:
        return target
    page, _, anchor = target.partition("#")
    if not page.endswith("index.md"):
        return target
    folder = page.removesuffix("index.md").strip("./") or OVERVIEW
    return f"#{folder}-{anchor}" if anchor else f"#{folder}"
