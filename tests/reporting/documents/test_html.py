"""Documents as HTML."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import numpy as np

from erlbench.reporting.documents import BOLD, Column, Content, Figure, Table, render, web_page

EVIL = "<script>alert('x')</script>\" onload=\"y"


def page(*blocks, title="T", text="", folds=()) -> Content:
    values = {
        "title": title, "banner": text, "lines": [text], "answers": [text], "study": [], "result": text,
        "verdicts": list(folds), "missing": [text], "first": list(blocks),
        "parts": [(title, list(blocks))] if text else [],
    }  # fmt: skip
    return Content(template="page.jinja", values=values, blocks=blocks, name="page")


class Tags(HTMLParser):
    """All opening tags of a page with their attributes."""

    def __init__(self, content: Content) -> None:
        super().__init__()
        self.opened: list[tuple[str, dict[str, str | None]]] = []
        self.feed(render(content, markup=True))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.opened.append((tag, dict(attrs)))

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.opened if name == tag]


def test_a_table_can_be_sorted_by_its_values_and_explains_itself():
    columns = [
        Column("Name", ("name",)),
        Column("Size", ("size",), lambda value: f"{value:,.0f}", note="how large.", style="style"),
    ]
    sizes = {"a": 1234.5, "b": np.float64(2.5), "c": np.int64(7), "d": float("inf")}
    tags = Tags(page(Table("sizes", "", columns, [{"name": n, "size": s, "style": BOLD} for n, s in sizes.items()])))
    cells = [cell for cell in tags.of("td") if "right" in (cell["class"] or "")]
    assert [cell.get("data-value") for cell in cells] == ["1234.5", "2.5", "7.0", None]
    assert {cell["class"] for cell in cells} == {"right bold"}
    assert [link["href"] for link in tags.of("a")][-2:] == ["page/sizes.md", "page/sizes.csv"]
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
    tags = Tags(page(*blocks, title=EVIL, text=EVIL, folds=[(EVIL, [EVIL])]))
    assert "script" not in {tag for tag, _ in tags.opened}
    assert not [attributes for _, attributes in tags.opened if "onload" in attributes]


def test_charts_have_a_place_and_data():
    chart = {"kind": "curves", "panels": {"<!--<script>": 1}}
    blocks = [
        Figure(name="f", title="A", caption=["Caption."], chart=chart),
        Figure(name="g", title="B", caption=["Caption."], formats=("png",)),
        Figure(name="h", title="C", caption=["Caption."], formats=("pdf",)),
    ]
    data = re.search(r'id="data">(.*?)</script>', web_page([page(*blocks)], {"lists": []}, "page"))[1]
    assert json.loads(data)["charts"] == {"page-f": chart}
    assert "<" not in data  # such a text would hide the end of the script from browsers
    tags = Tags(page(*blocks))
    assert [figure["id"] for figure in tags.of("figure")] == ["page-f", "page-g", "page-h"]
    assert [image["src"] for image in tags.of("img")] == ["page/g.png"]
    assert [place["id"] for place in tags.of("div") if place.get("class") == "chart"] == ["page-f-chart"]
