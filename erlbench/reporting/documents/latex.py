"""Tables as LaTeX that fits a column of a paper, or both where a table may span them, for the package booktabs.

A table that is too wide is cut into panels below each other, each of which begins with the row's name; one that is too
long becomes several floats. Nothing is scaled, so the print has the size that it says.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from erlbench.reporting.documents.model import BOLD, ITALIC, Table, TableCell
from erlbench.reporting.documents.widths import GAP, LONGEST, stacked, width

WIDTH = 238.0  # points: a column of a two-column paper is 3.3 inches wide
BOTH = 487.0  # points: both columns
MOST_ROWS = 38  # of a panel
PAGE = 500.0  # points that a float may have below its caption
LINE, RULE, NOTE_LINE = 9.5, 5.0, 8.0  # points: the height of a row, of a rule, and of a line of the notes
NOTE_CHARACTER = 3.1  # points: how wide an average character of the notes is
NOTHING = "–"

Line = tuple[str, list[TableCell]]  # the heading above it, its cells


@dataclass(frozen=True)
class _Column:
    """What all panels know of a column."""

    left: bool
    header: list[str]  # its lines
    width: float  # points
    folded: bool  # whether its cells have several lines


def table(content: Table[Any], label: str) -> str:
    """The `table` environments, the first labelled `tab:<label>`; notes stand below the last."""
    lines, header, left = _lines(content), content.header, [column.left for column in content.shown]
    hidden = len(header) - len(lines[0][1]) if lines else 0
    header, left = header[hidden:], left[hidden:]
    same = {i: lines[0][1][i].text for i in range(1, len(header)) if len(lines) > 2 and _same(lines, i, left[i])}
    notes = [*content.notes, *_shared(header, same)]
    columns = [_column(header[i], left[i], [cells[i] for _, cells in lines]) for i in range(len(header))]
    wide = content.spans and len(list(_panels(columns, set(same), WIDTH))) > 1
    panels = list(_panels(columns, set(same), BOTH if wide else WIDTH))
    kind = "table*" if wide else "table"
    pieces = [
        (_tabular(columns, panel, part), _height(columns, panel, part)) for panel in panels for part in _parts(lines)
    ]
    pieces += [(_notes(notes), NOTE_LINE * (1 + len(" ".join(notes)) * NOTE_CHARACTER // WIDTH))] if notes else []
    written = [
        f"\\begin{{{kind}}}[tbp]\n"
        + "\\centering\\footnotesize\\setlength{\\tabcolsep}{3pt}\n"
        + f"\\caption{{{escape(content.title + ('' if i == 0 else ' (continued)'))}.}}"
        + ("" if i else f"\\label{{tab:{label}}}")
        + "\\smallskip\n"
        + "\n\n\\smallskip\n".join(group)
        + f"\n\\end{{{kind}}}\n"
        for i, group in enumerate(_floats(pieces))
    ]
    return "% needs \\usepackage{booktabs}\n" + "\n".join(written)


def escape(text: str) -> str:
    """A text with nothing that LaTeX would take for a command."""
    known = text.translate(_SPECIAL)
    return "".join(character if ord(character) < 0x250 else "?" for character in known)


def _lines(content: Table[Any]) -> list[Line]:
    """The rows; where several share their first cells, these become a heading above them.

    Under a heading, the first cell that is left names its row, as each panel begins with it.
    """
    cells, most = content.cells, len(content.header) - 2
    if most < 1 or len({row[0].text for row in cells}) == len(cells):
        return [("", row) for row in cells]
    names = [[tuple(cell.text for cell in row[: taken + 1]) for row in cells] for taken in range(most + 1)]
    names_all = (taken for taken in range(1, most + 1) if len(set(names[taken])) == len(cells))
    taken = next(names_all, 1)
    headings = [": ".join(name[:taken]) for name in names[taken]]
    if max(map(width, headings)) > WIDTH:
        taken, headings = 1, [row[0].text for row in cells]
    return [(heading, row[taken:]) for heading, row in zip(headings, cells, strict=True)]


def _same(lines: Sequence[Line], column: int, left: bool) -> bool:
    """Whether all rows have the same word, or no value."""
    texts = {cells[column].text for _, cells in lines}
    return len(texts) == 1 and (left or texts == {NOTHING})


def _shared(header: Sequence[str], same: dict[int, str]) -> Iterator[str]:
    """What the columns that are left out have in all rows."""
    yield from (f"{header[i]}: {text} in all rows." for i, text in same.items() if text != NOTHING)
    if absent := [header[i] for i, text in same.items() if text == NOTHING]:
        yield f"No row has a value of: {', '.join(absent)}."


def _column(header: str, left: bool, cells: Sequence[TableCell]) -> _Column:
    widest = max((width(cell.text, cell.style == BOLD) for cell in cells), default=0.0)
    lines = stacked(header, min(widest, LONGEST))
    return _Column(left, lines, max([min(widest, LONGEST), *map(width, lines)]) + GAP, widest > LONGEST)


def _panels(columns: Sequence[_Column], out: set[int], room: float) -> Iterator[list[int]]:
    """The columns of each panel; all panels begin with the first column."""
    panel, used = [0], columns[0].width
    for i in (i for i in range(1, len(columns)) if i not in out):
        if used + columns[i].width > room + GAP and len(panel) > 1:
            yield panel
            panel, used = [0], columns[0].width
        panel.append(i)
        used += columns[i].width
    yield panel


def _parts(lines: Sequence[Line]) -> list[Sequence[Line]]:
    return [lines[i : i + MOST_ROWS] for i in range(0, len(lines), MOST_ROWS)] or [lines]


def _height(columns: Sequence[_Column], panel: Sequence[int], lines: Sequence[Line]) -> float:
    """Points of print: the rules, the header, the headings, and the rows with their folded cells."""
    folded = (max(math.ceil(width(cells[i].text) / LONGEST) if columns[i].folded else 1 for i in panel)
              for _, cells in lines)  # fmt: skip
    headings = len({heading for heading, _ in lines if heading})
    rows = max(len(columns[i].header) for i in panel) + headings + sum(folded)
    return LINE * rows + RULE * (3 + max(0, headings - 1))


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


def _tabular(columns: Sequence[_Column], panel: Sequence[int], lines: Sequence[Line]) -> str:
    shown = [columns[i] for i in panel]
    kinds = "".join(f"p{{{LONGEST:.0f}pt}}" if one.folded else "l" if one.left else "r" for one in shown)
    end = " \\tabularnewline" if any(one.folded for one in shown) else " \\\\"  # \\raggedright has another \\\\
    rows = []
    for i, (heading, group) in enumerate(groupby(lines, key=lambda line: line[0])):
        rows += ["\\midrule"] if i == 0 or heading else []
        rows += [f"\\multicolumn{{{len(panel)}}}{{@{{}}l}}{{\\textit{{{escape(heading)}}}}} \\\\"] if heading else []
        rows += [" & ".join(_cell(cells[k], columns[k].folded) for k in panel) + end for _, cells in group]
    heads = " & ".join(_header(one) for one in shown) + end
    return "\n".join(
        [f"\\begin{{tabular}}{{@{{}}{kinds}@{{}}}}", "\\toprule", heads, *rows, "\\bottomrule", "\\end{tabular}"]
    )


def _header(column: _Column) -> str:
    """A header of several lines is aligned as its column."""
    text = " \\\\ ".join(map(escape, column.header))
    return f"\\shortstack[{'l' if column.left else 'r'}]{{{text}}}" if len(column.header) > 1 else text


def _cell(cell: TableCell, folded: bool) -> str:
    text = escape(cell.text)
    command = {BOLD: "textbf", ITALIC: "textit"}.get(cell.style)
    return ("\\raggedright " if folded else "") + (f"\\{command}{{{text}}}" if command else text)


def _notes(notes: Sequence[str]) -> str:
    return f"\\begin{{minipage}}{{\\linewidth}}\\scriptsize {escape(' '.join(notes))}\\end{{minipage}}"


_SPECIAL = str.maketrans({
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "−": "$-$", "–": "--", "<": "$<$",
    ">": "$>$", "≥": r"$\ge$", "≤": r"$\le$", "×": r"$\times$", "α": r"$\alpha$", "µ": r"$\mu$", "σ": r"$\sigma$",
})  # fmt: skip
