"""Tables as LaTeX, for the package booktabs."""

from __future__ import annotations

from typing import Any

from erlbench.reporting.documents.model import BOLD, ITALIC, Cell, Table


def table(content: Table[Any], label: str) -> str:
    """A `table` environment, labelled `tab:<label>`; the notes are the caption."""
    lines = [
        "% needs \\usepackage{booktabs} and \\usepackage{graphicx}",
        "\\begin{table}[t]", "\\centering", f"\\caption{{{escape(' '.join([content.title + '.', *content.notes]))}}}",
        f"\\label{{tab:{label}}}", "\\resizebox{\\linewidth}{!}{%",
        f"\\begin{{tabular}}{{{''.join('l' if column.left else 'r' for column in content.shown)}}}", "\\toprule",
        " & ".join(map(escape, content.header)) + " \\\\",
    ]  # fmt: skip
    before = Cell("")
    for cells in content.cells:
        lines += ["\\midrule"] if cells[0] != before else []
        first = cells[0] if cells[0] != before else Cell("")
        lines.append(" & ".join(map(_cell, (first, *cells[1:]))) + " \\\\")
        before = cells[0]
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}}", "\\end{table}", ""])


def escape(text: str) -> str:
    """A text with nothing that LaTeX would take for a command."""
    return text.translate(_SPECIAL)


def _cell(cell: Cell) -> str:
    text = escape(cell.text)
    command = {BOLD: "textbf", ITALIC: "textit"}.get(cell.style)
    return f"\\{command}{{{text}}}" if command else text


_SPECIAL = str.maketrans({
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "−": "$-$", "–": "--", "<": "$<$",
    ">": "$>$", "≥": r"$\ge$", "≤": r"$\le$", "×": r"$\times$", "α": r"$\alpha$", "µ": r"$\mu$",
})  # fmt: skip
