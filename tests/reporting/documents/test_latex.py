"""The paper's table as LaTeX: escaped, marked, and compiled in two columns."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from erlbench.reporting.documents.files import to_latex
from erlbench.reporting.documents.model import Column, Table

HOSTILE = "50 % & more: #1 {x} ~ \\ ^ λ_"


def made(columns: int) -> Table:
    names = Column("Algorithm", "name")
    numbers = [
        Column(f"Env{i}-v5", f"value_{i}", lambda value: f"−1,234 ± {value}", style="style") for i in range(columns)
    ]
    rows = [
        {"name": f"a_name@{row}", "style": "bold" * row, **{f"value_{i}": row for i in range(columns)}}
        for row in range(2)
    ]
    return Table("paper-table", f"All runs {HOSTILE}", [names, *numbers], rows, [HOSTILE], for_paper=True)


def test_texts_are_escaped_and_decided_cells_bold():
    text = to_latex(made(1), "all-paper")
    assert r"a\_name@0 & $-$1,234 $\pm$ 0 \\" in text
    assert r"a\_name@1 & \textbf{$-$1,234 $\pm$ 1} \\" in text
    assert text.count(r"50 \% \& more: \#1 \{x\} \textasciitilde{} \textbackslash{} \textasciicircum{} ?\_") == 2
    assert r"\label{tab:all-paper}" in text


@pytest.mark.slow
@pytest.mark.needs("pdflatex")
def test_tables_compile(tmp_path: Path):
    start = "\\documentclass[twocolumn]{article}\\usepackage[T1]{fontenc}\\usepackage{booktabs,graphicx}"
    start += "\\begin{document}x\n"
    body = "\n".join(to_latex(made(columns), f"t{columns}") for columns in (1, 4))
    (tmp_path / "all.tex").write_text(f"{start}{body}\n\\clearpage\\end{{document}}\n", encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=120)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout
