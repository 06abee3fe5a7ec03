"""The files of a table: Markdown, CSV, and for a paper LaTeX."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from erlbench.reporting.documents import render
from erlbench.reporting.documents.model import BOLD, ITALIC, Record, Table, TableCell

FORMULAS = ("=", "+", "-", "@")  # what a formula begins with
NUMBERS = re.compile(r"-?[\d.]+(e[+-]?\d+)?( -?([\d.]+(e[+-]?\d+)?|inf|nan))*")
_SPECIAL = str.maketrans({
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "−": "$-$", "–": "--", "<": "$<$",
    ">": "$>$", "≥": r"$\ge$", "≤": r"$\le$", "×": r"$\times$", "α": r"$\alpha$", "µ": r"$\mu$", "σ": r"$\sigma$",
})  # fmt: skip


def write_table(table: Table, folder: Path) -> None:
    """Write `<name>.md` and `<name>.csv`, and for a paper `<name>.tex`; a table without a name has no files."""
    if not table.name:
        return
    (folder / f"{table.name}.md").write_text(render.table(table), encoding="utf-8")
    (folder / f"{table.name}.csv").write_text(to_csv(table), encoding="utf-8")
    if table.for_paper:
        text = to_latex(table, f"{folder.name}-{table.name}")
        (folder / f"{table.name}.tex").write_text(text, encoding="utf-8")


def to_csv(table: Table) -> str:
    """One line per row, all columns in full precision; no value is an empty cell."""
    return csv_lines(table.records, table.names)


def csv_lines(records: Sequence[Record], names: list[str] | None = None) -> str:
    """A header and one line per record; without `names` all values of the records."""
    rows = [{name: csv_value(value) for name, value in record.items()} for record in records]
    return pd.DataFrame(rows, columns=names, dtype=object).to_csv(index=False, lineterminator="\n")


def csv_value(value: Any) -> Any:
    """A value as a cell of a CSV file that a spreadsheet shows and does not compute: no text begins a formula.

    Texts of numbers, such as the scores of several runs, stay as they are.
    """
    formula = isinstance(value, str) and value.lstrip()[:1] in FORMULAS and not NUMBERS.fullmatch(value)
    return f"'{value}" if formula else value


def to_latex(table: Table, label: str) -> str:
    """The `table` environment, labelled `tab:<label>`, with notes; an author places one that is too wide."""
    rows = [[_cell(cell) for cell in cells] for cells in table.cells]
    text = (
        pd.DataFrame(rows, columns=[*map(escape_latex, table.header)])
        .style.hide(axis="index")
        .to_latex(
            hrules=True,
            column_format="".join("l" if column.left else "r" for column in table.shown),
            position="tbp",
            position_float="centering",
            caption=f"{escape_latex(table.title)}.",
            label=f"tab:{label}",
        )
    )
    end, notes = "\\end{table}", escape_latex(" ".join(table.notes))
    below = f"\\par\\smallskip\\begin{{minipage}}{{\\linewidth}}\\scriptsize {notes}\\end{{minipage}}\n"
    return "% needs \\usepackage{booktabs}\n" + text.replace(end, below + end)


def escape_latex(text: str) -> str:
    """A text with nothing that LaTeX would take for a command."""
    return "".join(character if ord(character) < 0x250 else "?" for character in text.translate(_SPECIAL))


def _cell(cell: TableCell) -> str:
    command = {BOLD: "textbf", ITALIC: "textit"}.get(cell.style)
    return f"\\{command}{{{escape_latex(cell.text)}}}" if command else escape_latex(cell.text)
