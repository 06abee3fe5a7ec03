"""The paper's table as LaTeX: escaped and marked."""

from __future__ import annotations

from erlbench.reporting.documents import Column, Table, to_latex

HOSTILE = "50 % & more: #1 {x} ~ \\ ^ λ_"


def test_texts_are_escaped_and_decided_cells_bold():
    number = Column("Env-v5", ("value",), lambda value: f"−1,234 ± {value}", style="style")
    rows = [{"name": f"a_name@{row}", "style": "bold" * row, "value": row} for row in range(2)]
    columns = [Column("Algorithm", ("name",)), number]
    text = to_latex(Table("t", f"All runs {HOSTILE}", columns, rows, [HOSTILE], for_paper=True), "all")
    assert r"a\_name@0 & $-$1,234 $\pm$ 0 \\" in text
    assert r"a\_name@1 & \textbf{$-$1,234 $\pm$ 1} \\" in text
    assert text.count(r"50 \% \& more: \#1 \{x\} \textasciitilde{} \textbackslash{} \textasciicircum{} ?\_") == 2
    assert r"\label{tab:all-t}" in text
