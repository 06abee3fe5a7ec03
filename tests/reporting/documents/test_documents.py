"""Documents as HTML, Markdown, CSV and LaTeX, and the data of their charts."""

import json
import math
import re
from html.parser import HTMLParser

import numpy as np

from erlbench.reporting.documents import (
    BOLD,
    Column,
    Content,
    Figure,
    Table,
    render,
    to_csv,
    to_latex,
    to_markdown,
    web_page,
)
from erlbench.reporting.drawing import MOST_RUNS, POINTS, ChartData
from erlbench.reporting.figures import curve_frame
from erlbench.reporting.formats import NONE, exact, interval, number, percent, plus_minus, share, significant, steps

CHART = {"kind": "curves", "panels": {"<!--<script>": 1}}
EVIL = "<script>alert('x')</script>\" onload=\"y"


def page(*blocks, text="T"):
    values = {
        "title": text, "banner": text, "lines": [text], "answers": [text], "study": [], "result": text,
        "verdicts": [(text, [text])], "missing": [text], "first": list(blocks), "parts": [(text, list(blocks))],
    }  # fmt: skip
    return Content(template="page.jinja", values=values, blocks=blocks, name="page")


class Tags(HTMLParser):
    """All opening tags of a page with their attributes."""

    def __init__(self, content):
        super().__init__()
        self.opened = []
        self.feed(render(content, markup=True))

    def handle_starttag(self, tag, attrs):
        self.opened.append((tag, dict(attrs)))

    def of(self, tag):
        return [attributes for name, attributes in self.opened if name == tag]


def test_a_table_can_be_sorted_by_its_values_and_explains_itself():
    columns = [Column("Name", ("name",)), Column("Size", ("size",), str, note="how large.", style="style")]
    sizes = [1234.5, np.float64(2.5), np.int64(7), float("inf")]
    tags = Tags(page(Table("sizes", "", columns, [{"name": "a", "size": size, "style": BOLD} for size in sizes])))
    cells = [cell for cell in tags.of("td") if cell["class"] == "right bold"][:4]
    assert [cell.get("data-value") for cell in cells] == ["1234.5", "2.5", "7.0", None]
    name, size, *_ = tags.of("button")
    assert "data-note" not in name
    assert size["aria-describedby"] == size["data-note"] == "page-sizes-1"
    assert {"id": "page-sizes-1", "hidden": None} in tags.of("span")


def test_no_text_becomes_markup():
    columns = [Column(EVIL, ("evil",), note=EVIL, style="evil", link="evil")]
    blocks = [
        Figure(name=EVIL, title=EVIL, caption=[EVIL, EVIL], formats=("png",)),
        Figure(name="f", title=EVIL, caption=[EVIL], chart=CHART),
        Table(EVIL, EVIL, columns, [{"evil": EVIL}], [EVIL]),
    ]
    tags = Tags(page(*blocks, text=EVIL))
    assert not [tag for tag, attributes in tags.opened if tag == "script" or "onload" in attributes]
    assert {place["id"] for place in tags.of("div") if place.get("class") == "chart"} == {"page-f-chart"}
    data = re.search(r'id="data">(.*?)</script>', web_page([page(*blocks)], {"lists": []}, "page"))[1]
    assert json.loads(data)["charts"] == {"page-f": CHART}
    assert "<" not in data  # such a text would hide the end of the script from browsers


HOSTILE = "50 % & more: #1 {x} ~ \\ ^ 中_"
TABLE = Table(
    "sizes",
    "Sizes_of",
    [
        Column("Thing", ("thing",), style="style", link="link"),
        Column("Size", ("size_mean", "size_std"), plus_minus, unit="m", note="how large."),
        Column("Only CSV", ("only_csv",), shown=False),
    ],
    [
        {"thing": "a|b", "size_mean": 1.25, "size_std": math.nan, "only_csv": None, "link": "there.md", "style": ""},
        {"thing": "c", "size_mean": 3.5, "size_std": 0.125, "only_csv": 3, "link": "there.md", "style": BOLD},
    ],
    ("A remark.",),
)


def test_header_cells_csv_and_notes_come_from_one_declaration():
    assert TABLE.header == ["Thing", "Size (m)"]
    assert [[cell.text for cell in row] for row in TABLE.cells] == [["a|b", "1.25"], ["c", "3.50 ± 0.12"]]
    assert TABLE.records[0] == {"thing": "a|b", "size_mean": 1.25, "size_std": None, "only_csv": None}
    assert to_csv(TABLE) == "thing,size_mean,size_std,only_csv\na|b,1.25,,\nc,3.5,0.125,3\n"  # a whole number stays one
    assert TABLE.notes == ["A remark.", "Size: how large."]
    lines = to_markdown(TABLE).splitlines()
    assert lines[0] == r"**Sizes\_of**"
    assert lines[4:6] == [r"| [a\|b](there.md) | 1.25 |", "| **[c](there.md)** | 3.50 ± 0.12 |"]


def test_in_latex_texts_are_escaped_and_decided_cells_bold():
    value = Column("Env-v5", ("value",), lambda value: f"−1,234 ± {value}", style="style")
    rows = [{"name": f"a_name@{row}", "style": "bold" * row, "value": row} for row in range(2)]
    columns = [Column("Algorithm", ("name",)), value]
    text = to_latex(Table("t", f"All runs {HOSTILE}", columns, rows, [HOSTILE], for_paper=True), "all")
    assert r"a\_name@0 & $-$1,234 $\pm$ 0 \\" in text
    assert r"a\_name@1 & \textbf{$-$1,234 $\pm$ 1} \\" in text
    assert text.count(r"50 \% \& more: \#1 \{x\} \textasciitilde{} \textbackslash{} \textasciicircum{} ?\_") == 2
    assert r"\label{tab:all-t}" in text
    columns[0] = Column("λ, τ", ("name",))
    assert r"$\lambda$, $\tau$ & Env-v5 \\" in to_latex(Table("t", "μ", columns, rows, [], for_paper=True), "all")


def test_numbers_are_printed_in_their_form():
    assert [*map(significant, (1087.4, 999.7, 0.01234))] == ["1,087", "1,000", "0.0123"]
    numbers = (-1234.5, 0.126, math.nan, np.float64(-2.36e-05), 0.0, 0.005, np.float64(-7e20))
    assert [*map(number, numbers)] == ["−1,234", "0.13", NONE, "−2.4e-05", "0.00", "0.005", "−7e+20"]
    assert [*map(steps, (1_500_000, math.nan, 999_999, 999_400, 999.6))] == ["1.5M", NONE, "1M", "999.4k", "999.6"]
    assert exact(41.97) == "41.97"
    assert percent(-2.04) == "−2.0 %"
    assert share(0.1234) == "12.3 %"
    assert interval(0.5, 0.25, 1) == "0.50 [0.25, 1.00]"
    assert interval(0.5, math.nan, math.nan) == "0.50"


def series_of(charts, *lines):
    """The series of lines in a chart, and the lists that they point to."""
    data = curve_frame([{"label": "a", "group": "a", "panel": "x", **line} for line in lines])
    panels = {"x": {"x": "x", "y": "y"}}
    chart = charts.chart(Figure(name="f", title="", caption=[], data=data, panels=panels, paper=["x"]))
    return chart["panels"]["x"]["series"], [*charts.lists]


def test_a_list_of_numbers_stands_once_and_is_short():
    x, y = np.arange(1000.0), np.linspace(0, 1, 1000) / 3
    (first, second), lists = series_of(ChartData(), {"x": x, "y": y}, {"x": x, "y": y, "label": "b"})
    assert (first["x"], first["y"]) == (second["x"], second["y"])
    assert [len(numbers) for numbers in lists] == [POINTS, POINTS]
    assert (lists[first["x"]][-1], lists[first["y"]][-1]) == (999, 0.33333)


def test_a_page_of_many_runs_shows_a_share_of_them():
    x = np.arange(3.0)
    runs = [(f"seed {seed}", x, x + seed) for seed in range(200)]
    for count, shown in ((200, 200), (10 * MOST_RUNS, 20)):
        charts = ChartData(count)
        (series,), lists = series_of(charts, {"x": x, "y": x, "averaged": 200, "runs": runs})
        names, _, y = (lists[place] for place in series["runs"])
        assert len(names) == shown
        assert names[-1] == "seed 199"
        assert lists[y[-1]] == (199, 200, 201)
        assert charts.shared()["share"] == shown / 200
