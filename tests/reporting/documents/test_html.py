"""Documents as HTML."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import numpy as np

from erlbench.reporting import documents
from erlbench.reporting.documents import BOLD, Column, Content, Figure, Table

EVIL = "<script>alert('x')</script>\" onload=\"y"


def values(*blocks, title="T", text="", items=(), folds=()):
    return {
        "title": title, "banner": text, "lines": [text], "answers": list(items), "study": [], "result": text,
        "verdicts": list(folds), "missing": [text], "first": list(blocks),
        "parts": [(title, list(blocks))] if text else [],
    }  # fmt: skip


def page(*blocks, **said) -> Content:
    return Content(template="page.jinja", values=values(*blocks, **said), blocks=blocks, name="page")


def document(*blocks, **said) -> str:
    return documents.render(page(*blocks, **said), markup=True)


def block(one) -> str:
    return document(one).partition("</p>")[2]  # what follows the way back


class Tags(HTMLParser):
    """All opening tags with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


def test_a_table_can_be_sorted_by_its_values_and_explains_itself():
    columns = [
        Column("Name", ("name",)),
        Column("Size", ("size",), lambda value: f"{value:,.0f}", note="how large.", style="style"),
    ]
    sizes = {"a": 1234.5, "b": np.float64(2.5), "c": np.int64(7), "d": float("inf")}
    rows = [{"name": name, "size": size, "style": BOLD} for name, size in sizes.items()]
    tags = Tags(block(Table("sizes", "Sizes", columns, rows)))
    cells = [cell for cell in tags.of("td") if "right" in (cell["class"] or "")]
    assert [cell.get("data-value") for cell in cells] == ["1234.5", "2.5", "7.0", None]
    assert {cell["class"] for cell in cells} == {"right bold"}
    assert [link["href"] for link in tags.of("a")] == ["page/sizes.md", "page/sizes.csv"]
    name, size = tags.of("button")
    assert "data-note" not in name
    assert size["aria-describedby"] == size["data-note"] == "page-sizes-1"
    assert {"id": "page-sizes-1", "hidden": None} in tags.of("span")


def test_no_text_becomes_markup():
    columns = [Column(EVIL, ("evil",), note=EVIL, style="evil", link="evil")]
    blocks = [
        Figure(name=EVIL, title=EVIL, caption=[EVIL, EVIL], formats=("png",)),
        Figure(name="f", title=EVIL, caption=[EVIL], chart={"kind": "curves"}),
        Table(EVIL, EVIL, columns, [{"evil": EVIL}], [EVIL]),
    ]
    tags = Tags(document(*blocks, title=EVIL, text=EVIL, items=(EVIL,), folds=[(EVIL, [EVIL])]))
    assert "script" not in {tag for tag, _ in tags.found}
    assert not [attributes for _, attributes in tags.found if "onload" in attributes]


def test_charts_have_a_place_and_data():
    blocks = [
        Figure(name="f", title="A", caption=["Caption."], chart={"kind": "curves", "panels": {"<!--<script>": 1}}),
        Figure(name="g", title="B", caption=["Caption."], formats=("png",)),
        Figure(name="h", title="C", caption=["Caption."], formats=("pdf",)),
    ]  # fmt: skip
    text = documents.web_page([page(*blocks)], {"lists": []}, "page")
    data = re.search(r'id="data">(.*?)</script>', text)[1]
    assert json.loads(data)["charts"] == {"page-f": {"kind": "curves", "panels": {"<!--<script>": 1}}}
    assert "<" not in data  # such a text would hide the end of the script from browsers
    tags = Tags(document(*blocks))
    assert [figure["id"] for figure in tags.of("figure")] == ["page-f", "page-g", "page-h"]
    assert [image["src"] for image in tags.of("img")] == ["page/g.png"]
    assert [place["id"] for place in tags.of("div") if place.get("class") == "chart"] == ["page-f-chart"]
