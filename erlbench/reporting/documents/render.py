"""Pages by templates: each is written once, of blocks that `web/blocks.md` and `web/blocks.html` print."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from erlbench.reporting.documents.formats import slug
from erlbench.reporting.documents.model import BOLD, ITALIC, Figure, Table, TableCell

if TYPE_CHECKING:
    from jinja2 import Environment

WEB = files("erlbench.reporting") / "web"
MARKS = {BOLD: "**", ITALIC: "*"}
OVERVIEW = "overview"  # the prefix of the first page


@dataclass(frozen=True, kw_only=True)
class Content:
    """A page: its template, what this prints, and where it stands in `index.html`."""

    template: str
    values: Mapping[str, Any]
    blocks: Sequence[Table | Figure] = ()  # those with files or charts
    name: str = OVERVIEW  # of its folder, and with what its ids begin
    title: str = ""  # what the menu calls it

    @property
    def folder(self) -> str:
        """What links to its files begin with."""
        return "" if self.name == OVERVIEW else f"{self.name}/"

    def id(self, name: str) -> str:
        """An id of the page."""
        return f"{self.name}-{slug(name)}"

    def link(self, target: str) -> str:
        """Where a link of a Markdown page leads to in `index.html`."""
        page, _, anchor = target.partition("#")
        if "://" in target or not page.endswith("index.md"):
            return target
        folder = page.removesuffix("index.md").strip("./") or OVERVIEW
        return f"#{folder}-{anchor}" if anchor else f"#{folder}"


def markdown(content: Content) -> str:
    """The page in Markdown."""
    text = environment(False).get_template(content.template).render(content.values, blocks="blocks.md", place=None)
    return re.sub(r"\n{3,}", "\n\n", text).rstrip("\n") + "\n"


def table(content: Table) -> str:
    """The title, the table, and the notes as a list, in Markdown."""
    return str(environment(False).get_template("blocks.md").module.table(content))  # type: ignore[attr-defined]


def web_page(pages: Sequence[Content], shared: Mapping[str, Any], first: str) -> str:
    """All pages as one; `shared` is what their charts share, `first` the name of the page that it opens with."""
    from markupsafe import Markup  # not at the top: other commands need no templates

    charts = {
        page.id(block.name): block.chart
        for page in pages
        for block in page.blocks
        if isinstance(block, Figure) and block.chart
    }
    sections = [(page, Markup(html(page))) for page in pages]
    template = environment(True).get_template("page.html")
    return template.render(sections=sections, first=first, data={**shared, "charts": charts})


def html(content: Content) -> str:
    """The page as a part of `index.html`."""
    return environment(True).get_template(content.template).render(content.values, blocks="blocks.html", place=content)


@cache
def environment(markup: bool) -> Environment:
    """The templates of HTML, which escape every text and every `<` of JSON, or of Markdown, whose blocks use `md`."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    templates = Environment(
        autoescape=markup,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(_read_asset),
    )
    templates.filters |= {"naming_columns": _naming_columns, "finite": _finite, "md": escape, "cell": _cell}
    templates.globals |= {"zip": zip, "asset": lambda name: Markup(_read_asset(name))}
    templates.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    return templates


def _read_asset(name: str) -> str:
    return (WEB / name).read_text(encoding="utf-8")


def escape(text: object) -> str:
    """A text from a run (a message, a path) as one line of Markdown without markup."""
    return " ".join(re.sub(r"([\\`*_\[\]<>|])", r"\\\1", str(text)).split())


def _cell(cell: TableCell) -> str:
    text = f"[{escape(cell.text)}]({cell.link})" if cell.link else escape(cell.text)
    mark = next((mark for style, mark in MARKS.items() if style in cell.style.split()), "")
    return f"{mark}{text}{mark}"


def _naming_columns(content: Table) -> int:
    """How many columns name a row: the first, and the second where several rows share the first."""
    firsts = [cells[0].text for cells in content.cells]
    return 1 + (len(set(firsts)) < len(firsts) and len(content.shown) > 2 and content.shown[1].left)


def _finite(value: object) -> str:
    """A finite number, by which rows are sorted; empty for anything else."""
    return repr(float(value)) if isinstance(value, numbers.Real) and math.isfinite(value) else ""
