"""Hooks of MkDocs: tables that the code has, pages outside docs/, and links to other files, which become text."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File
from mkdocs.structure.nav import Link

from erlbench.algorithms import registry
from erlbench.records.schema import ROWS, columns_of
from erlbench.settings import setting_rows

DOCS = Path(__file__).parent
ROOT = DOCS.parent
PAGES = {"README.md": "readme.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
GENERATED = re.compile(r"^<!-- (settings|columns): (\S+) -->$", re.MULTILINE)
LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Add the pages that lie outside docs/."""
    for name, page in PAGES.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links as the site has them; one to a file of the repository is text, one to no file stays and fails the build."""
    source = Path(page.file.abs_src_path)
    here = DOCS / page.file.src_uri

    def on_site(match: re.Match[str]) -> str:
        path, _, anchor = match[2].partition("#")
        if not path or "://" in path or path.startswith("mailto:"):
            return match[0]
        target = (source.parent / path).resolve()
        if target.parent == ROOT and target.name in PAGES:
            target = DOCS / PAGES[target.name]
        elif not target.is_relative_to(DOCS):
            return match[1] if target.exists() else match[0]
        link = os.path.relpath(target, here.parent)
        return f"[{match[1]}]({link}{'#' if anchor else ''}{anchor})"

    return GENERATED.sub(lambda match: generate_table(match[1], match[2]), LINK.sub(on_site, markdown))


def generate_table(kind: str, name: str) -> str:
    """The settings of an algorithm, or the columns of a file of a run, as Markdown; `LookupError` for no such name."""
    if kind == "settings":
        header = ("setting", "default", "what", "source")
        rows = [
            (f"`{row.name}`", row.default + (f" ({row.by_env})" if row.by_env else ""), row.help, row.source)
            for row in setting_rows(registry.find(name).settings_type)
        ]
    else:
        header = ("column", "unit", "what")
        schema = {row.file: row for row in ROWS}[name]
        rows = [
            ("the algorithm's own" if column.own else f"`{column.name}`", column.unit, column.help)
            for column in columns_of(schema)
        ]
    lines = [header, ("---",) * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def on_nav(nav: Any, **_: Any) -> Any:
    """Name the report that `make docs` writes beside the pages."""
    measured = next(item for item in nav.items if item.title == "Measurements")
    measured.children.append(Link("Report of the reference results", "report/index.html"))
    return nav
