"""Tables as LaTeX that fits a column of a paper, for the package booktabs.

A table that is too wide is cut into panels below each other, each of which begins with the row's name; one that is too
long becomes several floats. Nothing is scaled, so the print has the size that it says.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from erlbench.reporting.documents.model import BOLD, ITALIC, Cell, Table

WIDTH = 236.0  # points: a column of a two-column paper is 3.3 inches wide
CHARACTER, GAP = 4.6, 6.0  # points: a wide average in 8 point print, and the space between columns
LONGEST = 24  # characters of a cell that is printed on one line
MOST_ROWS = 38  # of a panel
PAGE = 48.0  # lines that a float may have
NOTE_LINE = 78.0  # characters of the notes that are as high as a line

Line = tuple[str, list[Cell]]  # the heading above it, its cells


def table(content: Table[Any], label: str) -> str:
    """The `table` environments, the first labelled `tab:<label>`; notes stand below the last."""
    lines, header, left = _lines(content), content.header, [column.left for column in content.shown]
    if lines and lines[0][0]:
        header, left = header[1:], left[1:]
    same = {i: lines[0][1][i].text for i in range(1, len(header)) if len(lines) > 2 and left[i] and _same(lines, i)}
    notes = [*content.notes, *(f"{header[i]}: {text} in all rows." for i, text in same.items())]
    panels = list(_panels(header, lines, set(same)))
    pieces = [
        (_tabular(header, left, panel, part), _height(header, panel, part))
        for panel in panels for part in _parts(lines)
    ]  # fmt: skip
    pieces += [(_notes(notes), len(" ".join(notes)) / NOTE_LINE)] if notes else []
    written = [
        "\\begin{table}[tbp]\n\\centering\\footnotesize\\setlength{\\tabcolsep}{3pt}\n"
        + f"\\caption{{{escape(content.title + ('' if i == 0 else ' (continued)'))}.}}"
        + ("" if i else f"\\label{{tab:{label}}}")
        + "\n"
        + "\n\n\\smallskip\n".join(group)
        + "\n\\end{table}\n"
        for i, group in enumerate(_floats(pieces))
    ]
    return "% needs \\usepackage{booktabs}\n" + "\n".join(written)


def escape(text: str) -> str:
    """A text with nothing that LaTeX would take for a command."""
    known = text.translate(_SPECIAL)
    return "".join(character if ord(character) < 0x250 else "?" for character in known)


def _lines(content: Table[Any]) -> list[Line]:
    """The rows; where several share their first cell, that becomes a heading above them."""
    cells = content.cells
    firsts = [row[0].text for row in cells]
    if len(content.header) < 3 or len(set(firsts)) == len(firsts):
        return [("", row) for row in cells]
    return [(row[0].text, row[1:]) for row in cells]


def _same(lines: Sequence[Line], column: int) -> bool:
    return len({cells[column].text for _, cells in lines}) == 1


def _panels(header: Sequence[str], lines: Sequence[Line], out: set[int]) -> Iterator[list[int]]:
    """The columns of each panel; all panels begin with the first column."""
    widths = [_width(header[i], [cells[i].text for _, cells in lines]) for i in range(len(header))]
    panel, used = [0], widths[0]
    for i in (i for i in range(1, len(header)) if i not in out):
        if used + widths[i] > WIDTH and len(panel) > 1:
            yield panel
            panel, used = [0], widths[0]
        panel.append(i)
        used += widths[i]
    yield panel


def _width(header: str, texts: Sequence[str]) -> float:
    longest = max((min(len(text), LONGEST) for text in texts), default=0)
    return CHARACTER * max(longest, *map(len, header.split())) + GAP


def _parts(lines: Sequence[Line]) -> list[Sequence[Line]]:
    return [lines[i : i + MOST_ROWS] for i in range(0, len(lines), MOST_ROWS)] or [lines]


def _height(header: Sequence[str], panel: Sequence[int], lines: Sequence[Line]) -> float:
    """Lines of print: header, headings, rows with their folded cells, and the rules."""
    folded = (max(math.ceil(len(cells[i].text) / LONGEST) for i in panel) for _, cells in lines)
    headings = len({heading for heading, _ in lines if heading})
    return 2 + max(len(header[i].split()) for i in panel) + 1.5 * headings + sum(folded)


def _floats(pieces: Sequence[tuple[str, float]]) -> list[list[str]]:
    """The pieces, as many to a float as a page holds."""
    floats: list[list[str]] = []
    used = math.inf
    for text, height in pieces:
        if used + height > PAGE:
            floats.append([])
            used = 0.0
        floats[-1].append(text)
        used += height
    return floats


def _tabular(header: Sequence[str], left: Sequence[bool], panel: Sequence[int], lines: Sequence[Line]) -> str:
    kinds = (f"p{{{CHARACTER * LONGEST:.0f}pt}}" if _folded(lines, i) else "l" if left[i] else "r" for i in panel)
    rows = []
    for i, (heading, group) in enumerate(groupby(lines, key=lambda line: line[0])):
        rows += ["\\midrule"] if i == 0 or heading else []
        rows += [f"\\multicolumn{{{len(panel)}}}{{@{{}}l}}{{\\textit{{{escape(heading)}}}}} \\\\"] if heading else []
        rows += [" & ".join(_cell(cells[k]) for k in panel) + " \\\\" for _, cells in group]
    heads = " & ".join(_header(header[i], left[i]) for i in panel) + " \\\\"
    begin = f"\\begin{{tabular}}{{@{{}}{''.join(kinds)}@{{}}}}"
    return "\n".join([begin, "\\toprule", heads, *rows, "\\bottomrule", "\\end{tabular}"])


def _folded(lines: Sequence[Line], column: int) -> bool:
    return max((len(cells[column].text) for _, cells in lines), default=0) > LONGEST


def _header(text: str, left: bool) -> str:
    """A header of several words stands on several lines."""
    words = [escape(word) for word in text.split()]
    stacked = " \\\\ ".join(words)
    return stacked if len(words) == 1 else f"\\shortstack[{'l' if left else 'r'}]{{{stacked}}}"


def _cell(cell: Cell) -> str:
    text = escape(cell.text)
    command = {BOLD: "textbf", ITALIC: "textit"}.get(cell.style)
    return f"\\{command}{{{text}}}" if command else text


def _notes(notes: Sequence[str]) -> str:
    return f"\\begin{{minipage}}{{\\linewidth}}\\scriptsize {escape(' '.join(notes))}\\end{{minipage}}"


_SPECIAL = str.maketrans({
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "−": "$-$", "–": "--", "<": "$<$",
    ">": "$>$", "≥": r"$\ge$", "≤": r"$\le$", "×": r"$\times$", "α": r"$\alpha$", "µ": r"$\mu$", "σ": r"$\sigma$",
})  # fmt: skip
