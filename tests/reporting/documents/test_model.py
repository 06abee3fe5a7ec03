"""Columns x rows, printed, as CSV and as LaTeX."""

from __future__ import annotations

import math

from erlbench.reporting.documents import BOLD, Column, Table, to_csv, to_latex, to_markdown
from erlbench.reporting.formats import NONE, exact, interval, number, percent, plus_minus, share, significant, steps

HOSTILE = "50 % & more: #1 {x} ~ \\ ^ λ_"
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


def test_numbers_are_printed_in_their_form():
    assert [*map(significant, (1087.4, 999.7, 0.01234))] == ["1,087", "1,000", "0.0123"]
    numbers = (-1234.5, 0.126, math.nan, -2.36e-05, 0.0049, 0.0, 0.005)
    assert [*map(number, numbers)] == ["−1,234", "0.13", NONE, "−2.4e-05", "0.0049", "0.00", "0.01"]
    counts = (1_500_000, math.nan, 999_999, 999_400, 999.6, -999_999)
    assert [*map(steps, counts)] == ["1.5M", NONE, "1M", "999.4k", "999.6", "-1M"]
    assert (exact(41.97), percent(-2.04), share(0.1234)) == ("41.97", "−2.0 %", "12.3 %")
    assert (interval(0.5, 0.25, 1), interval(0.5, math.nan, math.nan)) == ("0.50 [0.25, 1.00]", "0.50")
