"""Documents as HTML."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import numpy as np

from erlbench.reporting.documents import html
from erlbench.reporting.documents.html import Place
from erlbench.reporting.documents.model import (
    BOLD,
    Bullets,
    Chart,
    Code,
    Column,
    Document,
    Figure,
    Fold,
    Folds,
    Heading,
    Link,
    Table,
    Text,
)

PLACE = Place("page", "page/", lambda target: f"#{target}")
EVIL = "<script>alert('x')</script>\" onload=\"y"


def document(blocks) -> str:
    return str(html.environment().get_template("blocks.html").module.document(Document(blocks), PLACE))


def block(one) -> str:
    return document([one])


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
        Column[tuple[str, object]]("Name", lambda row: row[0]),
        Column[tuple[str, object]]("Size", lambda row: row[1], lambda value: f"{value:,.0f}", note="how large.",
                                   style=lambda row: BOLD),
    ]  # fmt: skip
    rows = [("a", 1234.5), ("b", np.float64(2.5)), ("c", np.int64(7)), ("d", float("inf"))]
    tags = Tags(block(Table("sizes", "Sizes", columns, rows)))
    cells = [cell for cell in tags.of("td") if "right" in (cell["class"] or "")]
    assert [cell.get("data-value") for cell in cells] == ["1234.5", "2.5", "7.0", None]
    assert {cell["class"] for cell in cells} == {"right bold"}
    assert [link["href"] for link in tags.of("a")] == ["page/sizes.md", "page/sizes.csv"]
    name, size = tags.of("button")
    assert "data-note" not in name
    assert size["aria-describedby"] == size["data-note"] == "page-sizes-1"
    assert {"id": "page-sizes-1", "hidden": None} in tags.of("span")


def test_a_table_of_six_rows_or_more_can_be_filtered():
    for rows in (1, 5, 6):
        tags = Tags(block(Table("t", "T", [Column[int]("A", lambda row: row)], range(rows))))
        assert len(tags.of("input")) == (rows == 6)


def test_the_cells_that_name_a_row_are_its_headers():
    columns = [Column[tuple[str, str, int]](name, lambda row, i=i: row[i]) for i, name in enumerate("EA")]
    columns.append(Column[tuple[str, str, int]]("Mean", lambda row: row[2], str))
    table = Table("t", "T", columns, [("Ant", "td3", 1), ("Ant", "sac", 2)])
    tags = Tags(block(table))
    assert [cell.get("scope") for cell in tags.of("th")] == ["col"] * 3 + ["row"] * 4
    assert len(tags.of("td")) == 2


def test_a_long_list_is_folded_and_tables_without_a_name_have_ids_of_their_own():
    table = Table("", "All cells", [Column[str]("A", lambda row: row)], ["x"])
    tags = Tags(document([Bullets(tuple("abcdefgh")), table, table]))
    assert len(tags.of("li")) == 8
    assert len(tags.of("details")) == 1
    assert [section["id"] for section in tags.of("section")] == ["page-table-1", "page-table-2"]
    tags = Tags(document([Folds(tuple(Fold(line, ("behind it",)) for line in "abcde"))]))
    assert (len(tags.of("summary")), len(tags.of("li"))) == (5 + 1, 5)  # the last one is folded again


def test_no_text_becomes_markup():
    columns = [Column[str](EVIL, lambda row: row, note=EVIL, style=lambda row: EVIL, link=lambda row: EVIL)]
    blocks = [
        Heading(EVIL), Text((EVIL, Link(EVIL, EVIL)), banner=True), Bullets((EVIL,)), Code((EVIL,)),
        Folds((Fold(EVIL, (EVIL,)),)),
        Figure(name=EVIL, title=EVIL, caption=EVIL, notes=(EVIL,)),
        Figure(name="f", title=EVIL, caption=EVIL, chart=Chart("curves", {})),
        Table(EVIL, EVIL, columns, [EVIL], [EVIL]),
    ]  # fmt: skip
    tags = Tags(document(blocks))
    assert "script" not in {tag for tag, _ in tags.found}
    assert not [attributes for _, attributes in tags.found if "onload" in attributes]


def test_charts_have_a_place_and_data():
    blocks = [
        Figure(name="f", title="A", caption="Caption.", chart=Chart("curves", {"panels": {"<!--<script>": 1}})),
        Figure(name="g", title="B", caption="Caption."),
        Figure(name="h", title="C", caption="Caption.", formats=("pdf",)),
    ]  # fmt: skip
    page = html.page({PLACE: Document(blocks)}, {"lists": []})
    data = re.search(r'id="data">(.*?)</script>', page)[1]
    assert json.loads(data)["charts"] == {"page-f": {"kind": "curves", "panels": {"<!--<script>": 1}}}
    assert "<" not in data  # such a text would hide the end of the script from browsers
    tags = Tags(document(blocks))
    assert [figure["id"] for figure in tags.of("figure")] == ["page-f", "page-g", "page-h"]
    assert [image["src"] for image in tags.of("img")] == ["page/g.png"]
    assert [place["id"] for place in tags.of("div") if place.get("class") == "chart"] == ["page-f-chart"]
