"""A table as LaTeX for a paper; where it is too wide, it spans both columns, and is scaled to them."""

from __future__ import annotations

from erlbench.reporting.documents.model import BOLD, ITALIC, Table, TableCell

FIT = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"  # smaller print, never larger
COLUMN = 50  # characters in small print that a column of a two-column paper is wide


def table(content: Table, label: str) -> str:
    """The `table` environment, labelled `tab:<label>`; notes stand below the table."""
    import pandas as pd  # not at the top: a report without such a table needs none

    rows = [[_cell(cell) for cell in cells] for cells in content.cells]
    header = [*map(escape, content.header)]
    texts = [content.header, *([cell.text for cell in row] for row in content.cells)]
    widths = (max(map(len, column)) for column in zip(*texts))
    kind = "table*" if sum(widths) + 2 * len(header) > COLUMN else "table"
    text = (
        pd.DataFrame(rows, columns=header)
        .style.hide(axis="index")
        .to_latex(
            hrules=True,
            column_format="".join("l" if column.left else "r" for column in content.shown),
            position="tbp",
            position_float="centering",
            caption=f"{escape(content.title)}.",
            label=f"tab:{label}",
            environment=kind,
        )
    )
    notes = escape(" ".join(content.notes))
    below = f"\\par\\smallskip\\begin{{minipage}}{{\\linewidth}}\\scriptsize {notes}\\end{{minipage}}\n"
    end, begin_tabular, end_tabular = f"\\end{{{kind}}}", "\\begin{tabular}", "\\end{tabular}"
    text = text.replace(begin_tabular, f"{FIT}\n{begin_tabular}").replace(end_tabular, f"{end_tabular}}}")
    return "% needs \\usepackage{booktabs,graphicx}\n" + text.replace(end, below + end)


def escape(text: str) -> str:
    """A text with nothing that LaTeX would take for a command."""
    return "".join(character if ord(character) < 0x250 else "?" for character in text.translate(_SPECIAL))


def _cell(cell: TableCell) -> str:
    command = {BOLD: "textbf", ITALIC: "textit"}.get(cell.style)
    return f"\\{command}{{{escape(cell.text)}}}" if command else escape(cell.text)


_SPECIAL = str.maketrans({
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "−": "$-$", "–": "--", "<": "$<$",
    ">": "$>$", "≥": r"$\ge$", "≤": r"$\le$", "×": r"$\times$", "α": r"$\alpha$", "µ": r"$\mu$", "σ": r"$\sigma$",
})  # fmt: skip
