"""Documents as HTML, by the templates in `web/`; charts are places that the page's script fills."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from erlbench.reporting.documents.formats import slug
from erlbench.reporting.documents.model import Document, Figure, Table

if TYPE_CHECKING:
    from jinja2 import Environment

WEB = files("erlbench.reporting") / "web"


@dataclass(frozen=True)
class Place:
    """Where a document stands in the page."""

    prefix: str  # of its ids
    folder: str  # of its files, relative to the page; "" for the page's own
    link: Callable[[str], str]  # a document's link target -> the page's
    title: str = ""  # what the menu calls it

    def id(self, name: str) -> str:
        """An id of the page."""
        return f"{self.prefix}-{slug(name)}"


def page(sections: Mapping[Place, Document], shared: Mapping[str, Any]) -> str:
    """The whole page; `shared` is what its charts share."""
    charts = {
        place.id(figure.name): {"kind": figure.chart.kind, **figure.chart.data}
        for place, document in sections.items() for figure in document.blocks
        if isinstance(figure, Figure) and figure.chart
    }  # fmt: skip
    return environment().get_template("page.html").render(sections=sections, data={**shared, "charts": charts})


@cache
def environment() -> Environment:
    """The templates: they escape every text, and every `<` of JSON."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined  # not at the top: other commands need no templates
    from markupsafe import Markup

    made = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, loader=FunctionLoader(_asset)
    )
    made.filters |= {"kind": lambda block: type(block).__name__, "naming_columns": _naming_columns, "finite": _finite}
    made.globals |= {"zip": zip, "asset": lambda name: Markup(_asset(name))}
    made.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    return made


def _asset(name: str) -> str:
    return (WEB / name).read_text(encoding="utf-8")


def _naming_columns(content: Table[Any]) -> int:
    """How many columns name a row: the first, and the second where several rows share the first."""
    firsts = [cells[0].text for cells in content.cells]
    return 1 + (len(set(firsts)) < len(firsts) and len(content.shown) > 2 and content.shown[1].left)


def _finite(value: object) -> str:
    """A finite number, by which rows are sorted; empty for anything else."""
    return repr(float(value)) if isinstance(value, numbers.Real) and math.isfinite(value) else ""
