"""Columns x rows, printed and as CSV."""

from __future__ import annotations

import math

import pytest

from erlbench.reporting import documents
from erlbench.reporting.documents import BOLD, Column, Figure, Table, to_csv
from erlbench.reporting.formats import NONE, exact, interval, number, percent, plus_minus, share, significant, steps


def small_table(name="sizes"):
    columns = [
        Column("Thing", ("thing",), style="style", link="link"),
        Column("Size", ("size_mean", "size_std"), plus_minus, unit="m", note="how large."),
        Column("Only CSV", ("only_csv",), shown=False),
    ]
    rows = [
        {"thing": thing, "size_mean": mean, "size_std": std, "only_csv": 1000 * mean, "link": "there.md",
         "style": BOLD if mean > 2 else ""}
        for thing, mean, std in (("a|b", 1.25, math.nan), ("c", 3.5, 0.125))
    ]  # fmt: skip
    return Table(name, "Sizes_of", columns, rows, ("A remark.",))


def test_header_cells_csv_and_notes_come_from_one_declaration():
    table = small_table()
    assert table.header == ["Thing", "Size (m)"]
    assert [[cell.text for cell in row] for row in table.cells] == [["a|b", "1.25"], ["c", "3.50 ± 0.12"]]
    assert table.records[0] == {"thing": "a|b", "size_mean": 1.25, "size_std": None, "only_csv": 1250.0}
    assert to_csv(table) == "thing,size_mean,size_std,only_csv\na|b,1.25,,1250.0\nc,3.5,0.125,3500.0\n"
    assert table.notes == ["A remark.", "Size: how large."]
    assert documents.to_markdown(table).splitlines() == [
        r"**Sizes\_of**", "", "| Thing | Size (m) |", "| --- | ---: |", r"| [a\|b](there.md) | 1.25 |",
        "| **[c](there.md)** | 3.50 ± 0.12 |", "", "- A remark.", "- Size: how large.",
    ]  # fmt: skip


def test_a_whole_number_stays_one_beside_a_cell_without_a_value():
    columns = [Column("A", ("a",), str), Column("B", ("b",), str)]
    assert to_csv(Table("t", "", columns, [{"a": 3, "b": 1.5}, {"a": None, "b": math.nan}])) == "a,b\n3,1.5\n,\n"


def test_a_page_in_markdown():
    figure = Figure(name="f", title="A figure", caption=["Caption.", "Note."], formats=("png", "svg", "pdf"))
    values = {
        "title": "Top", "banner": "", "lines": ["A l*ne"], "answers": ["one", "t*o"], "study": [], "result": "Said.",
        "verdicts": [("li*e", ["behind"])], "missing": [], "first": [figure, small_table(), small_table("")],
        "parts": [("Folded", [figure])],
    }  # fmt: skip
    text = documents.render(documents.Content(template="page.jinja", values=values))
    assert text.startswith(
        "# Top\n\n[Back to the report](../index.md)\n\nA l\\*ne\n\n- one\n- t\\*o\n\nSaid.\n\n- li\\*e\n  - behind\n\n"
    )
    assert "\n![A figure](f.png)\n\nCaption. Files: [png](f.png), [svg](f.svg), [pdf](f.pdf)\n\n- Note.\n" in text
    assert text.count("Files: [md](sizes.md), [csv](sizes.csv)\n") == 1
    assert "\n\n## Folded\n\n![A figure]" in text


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        (significant(1087.4), "1,087"), (significant(999.7), "1,000"), (significant(0.01234), "0.0123"),
        (number(-1234.5), "−1,234"), (number(0.126), "0.13"), (number(math.nan), NONE), (exact(41.97), "41.97"),
        (percent(-2.04), "−2.0 %"), (share(0.1234), "12.3 %"), (interval(0.5, 0.25, 1), "0.50 [0.25, 1.00]"),
        (interval(0.5, math.nan, math.nan), "0.50"), (steps(1_500_000), "1.5M"), (steps(math.nan), NONE),
        (number(-2.36e-05), "−2.4e-05"), (number(0.0049), "0.0049"), (number(0.0), "0.00"), (number(0.005), "0.01"),
        (steps(999_999), "1M"), (steps(999_400), "999.4k"), (steps(999.6), "999.6"), (steps(-999_999), "-1M"),
    ],
)  # fmt: skip
def test_numbers_are_printed_in_their_form(printed, expected):
    assert printed == expected
