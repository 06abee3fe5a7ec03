"""Hooks of MkDocs: tables that code or data files hold, pages outside docs/, and links to other files, as text."""

from __future__ import annotations

import csv
import html
import json
import os
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from click import Context
from mkdocs.structure.files import File
from mkdocs.structure.nav import Link

from erlbench.algorithms import registry
from erlbench.cli import OLD, cli
from erlbench.envs.catalogue import LISTED
from erlbench.records.older import SETTINGS
from erlbench.records.schema import ROWS, list_columns
from erlbench.reporting.citations import read_entries
from erlbench.settings import setting_rows

DOCS = Path(__file__).parent
ROOT = DOCS.parent
PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
ALGORITHMS = DOCS / "algorithms" / "index.md"  # made by `algorithm_rows`; in the repository the folder stands for it
VERDICTS = ROOT / "results" / "reference" / "verdict.json"
GENERATED = re.compile(
    r"^<!-- (settings|scores|columns|table|matrix|options|environments|verdicts|renamed)(?:: (\S+))? -->$", re.MULTILINE
)
LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
Rows = Iterable[tuple[str, ...]]


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Add the pages that lie outside docs/, and the list of algorithms."""
    for name, page in PAGES.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / name)))
    text = f"# Algorithms\n\n{markdown_table(algorithm_rows())}\n"
    files.append(File.generated(config, str(ALGORITHMS.relative_to(DOCS)), content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links as the site has them; one to a file of the repository is text, one to no file stays and fails the build."""
    source = Path(page.file.abs_src_path or ALGORITHMS)
    here = DOCS / page.file.src_uri

    def on_site(match: re.Match[str]) -> str:
        path, _, anchor = match[2].partition("#")
        if not path or "://" in path or path.startswith("mailto:"):
            return match[0]
        target = (source.parent / path).resolve()
        if target == ALGORITHMS.parent:
            target = ALGORITHMS
        elif target.parent == ROOT and target.name in PAGES:
            target = DOCS / PAGES[target.name]
        elif not target.is_relative_to(DOCS):
            return match[1] if target.exists() else match[0]
        link = os.path.relpath(target, here.parent)
        return f"[{match[1]}]({link}{'#' if anchor else ''}{anchor})"

    return GENERATED.sub(lambda match: generate_table(match[1], match[2] or ""), LINK.sub(on_site, markdown))


def generate_table(kind: str, name: str) -> str:
    """The table that a comment `<!-- KIND: NAME -->` stands for, as Markdown; an error for no such name."""
    tables = {
        "settings": _settings, "scores": _scores, "columns": _columns, "table": _file, "options": _options,
        "environments": _environments, "matrix": _matrix, "verdicts": _verdicts, "renamed": _renamed,
    }  # fmt: skip
    return markdown_table(tables[kind](name))


def markdown_table(rows: Rows) -> str:
    """Rows as Markdown, the first of which is the header."""
    header, *others = rows
    lines = [header, ("---",) * len(header), *others]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def algorithm_rows() -> Iterator[tuple[str, ...]]:
    """Each algorithm with its page, first sentence and paper."""
    pages = {
        name: page.name
        for page in sorted(ALGORITHMS.parent.glob("*.md"))
        for name in re.findall(r"^<!-- settings: (\S+) -->$", page.read_text(encoding="utf-8"), re.MULTILINE)
    }
    papers = [
        (names, f"{re.search(r'author = {(.*?),', entry)[1]} {re.search(r'year = {(.*)}', entry)[1]}")
        for names, entry in read_entries()
    ]
    yield "algorithm", "what it is", "papers and libraries"
    for name in registry.ALGORITHMS:
        summary = (registry.find(name).__doc__ or "").strip().splitlines()[0]
        cited = ", ".join(paper for names, paper in papers if name in names)
        yield f"[`{name}`]({pages[name]}#{name})", summary, cited


def _settings(name: str) -> Rows:
    yield "setting", "default", "what", "source"
    for row in setting_rows(registry.find(name).settings_type):
        yield f"`{row.name}`", row.default + (f" ({row.by_env})" if row.by_env else ""), row.help, row.source


def _scores(name: str) -> Rows:
    header, *rows = _file("scores.csv")
    return [header, *(row for row in rows if row[0].partition("@")[0] == name)]


def _columns(name: str) -> Rows:
    yield "column", "unit", "what"
    for column in list_columns({row.file: row for row in ROWS}[name]):
        yield "the algorithm's own" if column.metrics else f"`{column.name}`", column.unit, column.help


def _file(name: str) -> Rows:
    with open(DOCS / "data" / name, encoding="utf-8", newline="") as file:
        return [tuple(row) for row in csv.reader(file)]


def _matrix(name: str) -> Rows:
    """The filled cells of each row in one, the highest score first: few are, and the table is too wide for a page."""
    header, *rows = _file(name)
    yield *header[:2], "scores"
    for task, steps, *cells in rows:
        filled = [(cell, algo) for algo, cell in zip(header[2:], cells, strict=True) if cell]
        filled.sort(key=lambda pair: -float(re.search(r"-?[\d,.]+", pair[0])[0].replace(",", "")))
        yield task, steps, "; ".join(f"{algo} {cell}" for cell, algo in filled)


def _options(command: str) -> Rows:
    yield "option", "what"
    for parameter in cli.get_command(Context(cli), command).params:
        help_text = getattr(parameter, "help", None)
        if help_text and not getattr(parameter, "hidden", False):
            metavar = "" if getattr(parameter, "is_flag", False) else f" {parameter.metavar}"
            name = html.escape(parameter.opts[0] + metavar).replace("|", "&#124;")  # a code span keeps a backslash
            yield f"<code>{name}</code>", help_text.replace("|", r"\|")


def _environments(_: str) -> Rows:
    yield "environment", "observation", "action", "steps", "presets", "source"
    for env in LISTED.values():
        action = f"{env.action}{', discrete' * env.discrete}"
        source = f"{env.source}{f'; extra `{env.extra}`' if env.extra else ''}"
        presets = ", ".join(f"`@{name}`" for name in env.presets)
        yield f"`{env.id}`", str(env.observation), action, str(env.limit), presets, source


def _verdicts(_: str) -> Rows:
    yield "comparison", "verdict"
    for name, verdicts in json.loads(VERDICTS.read_text(encoding="utf-8"))["verdicts"].items():
        for verdict in verdicts:
            yield f"`{name}`", verdict["sentence"]


def _renamed(what: str) -> Rows:
    if what == "commands":
        yield "earlier", "now"
        for old, new in tomllib.loads(OLD.read_text(encoding="utf-8"))["commands"].items():
            yield f"`erlbench {old}`", f"`erlbench {new.partition('  #')[0]}`"
        return
    yield "algorithms", "earlier", "now"
    for names in {tuple(names.items()): names for names in SETTINGS.values()}.values():
        algorithms = ", ".join(f"`{algo}`" for algo, others in SETTINGS.items() if others == names)
        yield algorithms, ", ".join(f"`{name}`" for name in names), ", ".join(f"`{name}`" for name in names.values())


def on_nav(nav: Any, **_: Any) -> Any:
    """Name the report that `make docs` writes beside the pages."""
    measured = next(item for item in nav.items if item.title == "Measurements")
    measured.children.append(Link("Report of the reference results", "report/index.html"))
    return nav
