"""A table and its three forms: Markdown, LaTeX (booktabs) and CSV."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

NONE = "–"  # what stands in a cell without a value


@dataclass(frozen=True)
class Styled:
    """A cell in bold or italics."""

    text: str
    style: str  # "bold" or "italic"


Value = str | Styled


@dataclass(frozen=True)
class Table:
    """What is printed, and for the CSV file the same in full precision.

    `rows` are grouped by their first cell (the environment). `records` hold numbers, texts, or None for "no value".
    """

    name: str  # of its files
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    notes: tuple[str, ...]  # the caption, a sentence or more each
    records: tuple[dict[str, Any], ...] = field(default=())

    def write(self, folder: Path) -> None:
        """Write `<name>.md`, `<name>.tex` and `<name>.csv`."""
        (folder / f"{self.name}.md").write_text(to_markdown(self), encoding="utf-8")
        (folder / f"{self.name}.tex").write_text(to_latex(self, f"{folder.name}-{self.name}"), encoding="utf-8")
        (folder / f"{self.name}.csv").write_text(to_csv(self), encoding="utf-8")


def to_markdown(table: Table) -> str:
    """The title, the table, and the notes as a list."""
    marks = ["---:" if side == "r" else "---" for side in _sides(table)]
    lines = [f"**{_markdown(table.title)}**", "", _row([_markdown(name) for name in table.columns]), _row(marks)]
    lines += [_row([_markdown_styled(value) for value in row]) for row in table.rows]
    return "\n".join([*lines, "", *(f"- {_markdown(note)}" for note in table.notes), ""])


def to_latex(table: Table, label: str) -> str:
    """A `table` environment for the package booktabs, labelled `tab:<label>`; the notes are the caption."""
    lines = [
        "% needs \\usepackage{booktabs} and \\usepackage{graphicx}",
        "\\begin{table}[t]", "\\centering", f"\\caption{{{_latex(' '.join([table.title + '.', *table.notes]))}}}",
        f"\\label{{tab:{label}}}", "\\resizebox{\\linewidth}{!}{%",
        f"\\begin{{tabular}}{{{''.join(_sides(table))}}}", "\\toprule",
        " & ".join(map(_latex, table.columns)) + " \\\\",
    ]  # fmt: skip
    before: Value = ""
    for row in table.rows:
        lines += ["\\midrule"] if row[0] != before else []
        first = row[0] if row[0] != before else ""
        lines.append(" & ".join(map(_latex_styled, (first, *row[1:]))) + " \\\\")
        before = row[0]
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}}", "\\end{table}", ""])


def to_csv(table: Table) -> str:
    """One line per record, in full precision; no value is an empty cell."""
    buffer = StringIO()
    columns = list(dict.fromkeys(key for record in table.records for key in record))
    writer = csv.DictWriter(buffer, columns, lineterminator="\n")
    writer.writeheader()
    for record in table.records:
        writer.writerow({key: "" if _absent(value) else value for key, value in record.items()})
    return buffer.getvalue()


def number(value: float) -> str:
    """1,234 or 56.7 or 0.123, and a dash for NaN."""
    if math.isnan(value):
        return NONE
    digits = 0 if abs(value) >= 1000 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f}".replace("-", "−")


def exact(value: float) -> str:
    """A published number with the digits it was published with; a dash for NaN."""
    return NONE if math.isnan(value) else f"{value:,.10g}".replace("-", "−")


def p_value(p: float) -> str:
    """0.012, or <0.001; a dash for NaN."""
    return NONE if math.isnan(p) else "<0.001" if p < 0.001 else f"{p:.3f}"


def percent(value: float) -> str:
    """+1.2 % with its sign."""
    return NONE if math.isnan(value) else f"{value:+.1f} %".replace("-", "−")


def share(value: float) -> str:
    """0.123 as 12.3 %."""
    return f"{100 * value:.1f} %"


def plus_minus(mean: float, std: float) -> str:
    """The mean ± standard deviation, the latter only where there is one."""
    return number(mean) + ("" if math.isnan(std) or math.isnan(mean) else f" ± {number(std)}")


def steps(value: float) -> str:
    """20k, 1M, 1.5M: training steps as on the axes."""
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.4g}{unit}"
    return f"{value:g}"


def escape(text: str) -> str:
    """A text from a run (a message, a path) as one line of Markdown without markup."""
    for character in "\\`*_[]<>|":
        text = text.replace(character, "\\" + character)
    return " ".join(text.split())


def _absent(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _sides(table: Table) -> list[str]:
    return ["l" if i < 2 or name == "Status" else "r" for i, name in enumerate(table.columns)]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _markdown(text: str) -> str:
    return escape(text)


def _markdown_styled(value: Value) -> str:
    if isinstance(value, Styled):
        mark = "**" if value.style == "bold" else "*"
        return f"{mark}{_markdown(value.text)}{mark}"
    return _markdown(value)


_LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "−": "$-$", "–": "--", "<": "$<$",
    ">": "$>$", "≥": r"$\ge$", "≤": r"$\le$", "×": r"$\times$", "α": r"$\alpha$", "µ": r"$\mu$",
})  # fmt: skip


def _latex(text: str) -> str:
    return text.translate(_LATEX)


def _latex_styled(value: Value) -> str:
    if isinstance(value, Styled):
        return f"\\{'textbf' if value.style == 'bold' else 'textit'}{{{_latex(value.text)}}}"
    return _latex(value)
