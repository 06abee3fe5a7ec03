"""Hooks of MkDocs: links to what is outside docs/ become text; the report of the reference results is in the menu."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.nav import Link

ROOT = Path(__file__).parents[1]
OUTSIDE = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(((?:\.\./)+[^)\s]*)\)")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links to files of the repository as text; one whose file is not there stays, and fails the build."""
    folder = Path(page.file.abs_src_path).parent

    def plain(match: re.Match[str]) -> str:
        target = (folder / match[2].partition("#")[0]).resolve()
        inside = target.is_relative_to(ROOT / "docs")
        return match[1] if not inside and target.exists() else match[0]

    return OUTSIDE.sub(plain, markdown)


def on_nav(nav: Any, **_: Any) -> Any:
    """Name the report that `make docs` writes beside the pages."""
    measured = next(item for item in nav.items if item.title == "Measurements")
    measured.children.append(Link("Report of the reference results", "report/index.html"))
    return nav
