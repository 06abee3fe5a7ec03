"""`index.html`: all pages of the report as one file that needs nothing else, neither network nor server."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from erlbench.reporting.documents import html
from erlbench.reporting.documents.html import Place
from erlbench.reporting.documents.model import Document
from erlbench.reporting.pages.page import Page

OVERVIEW = "overview"
SCRIPTS = ("common.js", "charts.js", "page.js")  # one script, in this order


def write_web_page(path: Path, overview: Document, pages: Sequence[Page], shared: Mapping[str, Any]) -> None:
    """Write the page; `shared` is what its charts share (`ChartData.shared`)."""
    sections = [(OVERVIEW, "Overview", overview, Place(OVERVIEW, "", _target))]
    studies = Counter(page.comparison.study for page in pages)
    for one, document in ((page.comparison, page.document) for page in pages):
        twice = one.study and studies[one.study] > 1
        title = one.name if twice else one.study or one.title  # the name has the profile
        sections.append((one.name, title, document, Place(one.name, f"{one.name}/", _target)))
    charts: dict[str, Any] = {}
    for _, _, document, place in sections:
        charts |= html.charts(document, place)
    links = "".join(f'<li><a href="#{name}">{html.escape(title)}</a></li>' for name, title, _, _ in sections)
    bodies = "\n".join(
        f'<section id="{name}" aria-label="{html.escape(title)}">{html.document(document, place)}</section>'
        for name, title, document, place in sections
    )
    data = json.dumps({**shared, "charts": charts}, separators=(",", ":")).replace("</", "<\\/")
    path.write_text(
        _PAGE.format(
            css=_asset("page.css"), links=links, bodies=bodies, data=data, plotly=_asset("plotly-basic.min.js"),
            script="".join(map(_asset, SCRIPTS)),
        ),
        encoding="utf-8",
    )  # fmt: skip


def _target(target: str) -> str:
    """Where a link of a Markdown page leads to in the one page."""
    page, _, anchor = target.partition("#")
    if not page.endswith("index.md"):
        return target
    folder = page.removesuffix("index.md").strip("./") or OVERVIEW
    return f"#{folder}-{anchor}" if anchor else f"#{folder}"


def _asset(name: str) -> str:
    return (files("erlbench.reporting") / "web" / name).read_text(encoding="utf-8")


_PAGE = """<!doctype html>
<html lang="en" class="plain">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>erlbench report</title>
<link rel="icon" href="data:,">
<style>{css}</style>
</head>
<body>
<a class="skip" href="#main">To the content</a>
<header><h1>erlbench report</h1><button type="button" id="theme" aria-label="Switch light and dark">◐</button></header>
<div class="frame">
<nav aria-label="Pages"><ul>{links}</ul></nav>
<main id="main">
{bodies}
</main>
</div>
<script type="application/json" id="data">{data}</script>
<script>{plotly}</script>
<script>(() => {{ "use strict";
{script}}})();</script>
</body>
</html>
"""
