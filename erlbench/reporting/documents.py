"""Tables and figures as data, and their files: pages by templates, CSV, LaTeX.

A table has its columns in columns.toml; each column is described there once, for pages, CSV and captions. A page
is written once, of blocks that `web/blocks.md` and `web/blocks.html` print.
"""

from __future__ import annotations

import math
import numbers
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

import erlbench.reporting.formats as formats
from erlbench.files import printable
from erlbench.reporting.formats import slug, text

if TYPE_CHECKING:
    from jinja2 import Environment

Record = dict[str, Any]  # a row of a frame: values by the names of columns
BOLD, ITALIC = "bold", "italic"


class TableCell(NamedTuple):
    """A printed cell; `value` is a finite number by which rows are sorted, or empty."""

    text: str
    style: str = ""
    link: str = ""
    value: str = ""


@dataclass(frozen=True)
class Column:
    """One column of a table, declared once: header, printed cells, CSV and caption all come from here.

    `values` names the values of a row: one cell, and as many columns of the CSV file, in full precision; no value is
    None, NaN, or not in the row. `format` prints them. `printed`, `style` and `link` name other values of the row
    that the cell shows.
    """

    title: str  # the header without its unit; no two printed columns of a table share it
    values: Sequence[str]
    format: Callable[..., str] = text
    _: KW_ONLY
    printed: str = ""  # a text in place of the formatted values
    unit: str = ""
    note: str = ""  # what it means, a sentence or more: below the table, and on hover
    style: str = ""  # BOLD, ITALIC or a class of web pages
    link: str = ""  # where a cell leads to
    shown: bool = True  # False: only in the CSV file
    words: bool = False  # printed to the left, as all that `text` prints

    @property
    def left(self) -> bool:
        """Whether it is printed to the left, as texts are."""
        return self.words or bool(self.printed) or self.format is text


class Table:
    """Columns x rows: `header` and `cells` of the columns `shown`, the `notes` below, the `records` of the CSV file.

    Rows are grouped by what their first column prints. A table without a name has no files. `remarks` follow
    the columns' notes in the caption, a sentence or more each; a table `for_paper` is also a file of LaTeX.
    """

    def __init__(
        self, name: str, title: str, columns: Sequence[Column], rows: Sequence[Record], remarks: Sequence[str] = (),
        for_paper: bool = False,
    ) -> None:  # fmt: skip
        self.name, self.title, self.rows, self.remarks = name, title, rows, remarks
        self.files = ("md", "csv", "tex")[: 2 + for_paper] if name else ()
        self.shown = [column for column in columns if column.shown]
        self.header = [column.title + f" ({column.unit})" * bool(column.unit) for column in self.shown]
        self.cells: list[list[TableCell]] = []
        for row in rows:
            line = []
            for column in self.shown:
                values = [row.get(name, "" if column.format is text else math.nan) for name in column.values]
                printed = row[column.printed] if column.printed else column.format(*values)
                finite = isinstance(values[0], numbers.Real) and math.isfinite(values[0])
                number = repr(float(values[0])) if finite else ""
                line.append(TableCell(printed, row.get(column.style, ""), row.get(column.link, ""), number))
            self.cells.append(line)
        self.names = [name for column in columns for name in column.values]
        self.records = [{name: _none(row.get(name)) for name in self.names} for row in rows]
        meanings = " ".join(f"{column.title}: {column.note}" for column in self.shown if column.note)
        self.notes = [*remarks, *filter(None, [meanings])]
        firsts = [cells[0].text for cells in self.cells]
        several = len(set(firsts)) < len(firsts) and len(self.shown) > 2
        self.naming = 1 + (several and self.shown[1].left)  # columns that name a row


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure: `data` of its panels (`curves.curve_frame`, or bars of processes), which have labels by name.

    `kind` is "curves" (one panel at a time on the page, whose switch chooses it by its name), "timeline",
    "columns", or "grid" (a panel for each environment). `paper` names the panels that are drawn on paper, the first of
    which the page shows first. `band`: the kind that paper has, and the page at first.
    """

    name: str  # of its files
    title: str
    caption: Sequence[str]  # what it shows, then notes
    kind: str = "curves"
    heading: str = ""  # on paper
    data: Any = None
    panels: Record = field(default_factory=dict)
    paper: Sequence[str] = ()
    band: str = "range"
    formats: tuple[str, ...] = ()  # of its files
    chart: Record | None = None  # what a browser draws in its place: plain values, as JSON knows them

    @property
    def picture(self) -> str:
        """The name of the file that a page shows, the first that browsers can; empty where there is none."""
        return next((f"{self.name}.{suffix}" for suffix in self.formats if suffix in ("png", "svg")), "")


def _none(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


@cache
def load_toml(name: str) -> Record:
    """A packaged file."""
    return tomllib.loads((files("erlbench.reporting") / name).read_text(encoding="utf-8"))


def build_table(
    kind: str, title: str, rows: Sequence[Record], remarks: Sequence[str] = (), name: str | None = None, **words: Any
) -> Table:
    """A table with the columns of a kind and the `words` that these need; its files have the kind's name, or `name`."""
    return Table(kind if name is None else name, title, [*build_columns(kind, rows, words)], rows, remarks)


def build_columns(name: str, rows: Sequence[Record], words: Record) -> Iterator[Column]:
    """The columns of a list of columns.toml; see there."""
    for entry in load_toml("columns.toml")[name]:
        if "use" in entry:
            yield from build_columns(entry["use"], rows, words)
            continue
        for item in words[entry["each"]] if "each" in entry else ("",):
            texts = {key: entry[key].format(each=item, **words) for key in ("title", "note") if key in entry}
            values = tuple(value.format(each=item) for value in entry["values"].split())
            shown = entry.get("shown", True)
            if shown == "filled":
                shown = any(row[name] == row[name] and row[name] != 0 for row in rows for name in values if name in row)
            elif isinstance(shown, str):
                shown = bool(words[shown])
            look = {key: entry[key] for key in ("unit", "style", "link", "printed") if key in entry}
            print_values = getattr(formats, entry.get("format", "text"))
            yield Column(values=values, format=print_values, shown=shown, **texts, **look)


WEB = files("erlbench.reporting") / "web"
MARKS = {BOLD: "**", ITALIC: "*"}
OVERVIEW = "overview"  # the prefix of the first page


@dataclass(frozen=True, kw_only=True)
class Content:
    """A page: its template, the template's values, and its place in `index.html`."""

    template: str
    values: Record
    blocks: Sequence[Table | Figure] = ()  # those with files or charts
    name: str = OVERVIEW  # of its folder, and with what its ids begin
    title: str = ""  # what the menu calls it

    @property
    def folder(self) -> str:
        """What links to its files begin with."""
        return "" if self.name == OVERVIEW else f"{self.name}/"

    def id(self, name: str) -> str:
        """An id of the page."""
        return f"{self.name}-{slug(name)}"

    def link(self, target: str) -> str:
        """Where a link of a Markdown page leads to in `index.html`."""
        page, _, anchor = target.partition("#")
        if "://" in target or not page.endswith("index.md"):
            return target
        folder = page.removesuffix("index.md").strip("./") or OVERVIEW
        return f"#{folder}-{anchor}" if anchor else f"#{folder}"


def render(content: Content, markup: bool = False) -> str:
    """The page in Markdown, or as a part of `index.html`."""
    template, blocks = environment(markup).get_template(content.template), "blocks.html" if markup else "blocks.md"
    text = template.render(content.values, blocks=blocks, place=content if markup else None)
    return text if markup else re.sub(r"\n{3,}", "\n\n", text).rstrip("\n") + "\n"


def web_page(pages: Sequence[Content], shared: Record, first: str) -> str:
    """All pages as one; `shared` is what their charts share, `first` the name of the page that it opens with."""
    from markupsafe import Markup  # not at the top: other commands need no templates

    charts, sections = {}, []
    for page in pages:
        sections.append((page, Markup(render(page, markup=True))))
        for block in page.blocks:
            if isinstance(block, Figure) and block.chart:
                charts[page.id(block.name)] = block.chart
    template = environment(True).get_template("page.html")
    return template.render(sections=sections, first=first, data={**shared, "charts": charts})


@cache
def environment(markup: bool) -> Environment:
    """The templates of HTML, which escape every text and every `<` of JSON, or of Markdown, whose blocks use `md`."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    templates = Environment(
        autoescape=markup,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(_read_asset),
    )
    templates.filters |= {"md": escape, "cell": _cell}
    templates.globals |= {"zip": zip, "asset": lambda name: Markup(_read_asset(name))}
    templates.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    return templates


def _read_asset(name: str) -> str:
    return (WEB / name).read_text(encoding="utf-8")


def escape(text: object) -> str:
    """A text from a run (a message, a path) as one line of Markdown without markup."""
    return " ".join(re.sub(r"([\\`*_\[\]<>|])", r"\\\1", str(text)).split())


def _cell(cell: TableCell) -> str:
    text = f"[{escape(cell.text)}]({cell.link})" if cell.link else escape(cell.text)
    mark = next((mark for style, mark in MARKS.items() if style in cell.style.split()), "")
    return f"{mark}{text}{mark}"


FORMULAS = ("=", "+", "-", "@")  # what a formula begins with
NUMBERS = re.compile(r"-?[\d.]+(e[+-]?\d+)?( -?([\d.]+(e[+-]?\d+)?|inf|nan))*")


def write_content(content: Content, out: Path) -> None:
    """Write a page and its tables to its folder below `out`."""
    folder = out / content.folder
    folder.mkdir(parents=True, exist_ok=True)
    for block in content.blocks:
        if isinstance(block, Table) and block.name:
            texts = {"md": to_markdown(block), "csv": to_csv(block)}
            if "tex" in block.files:
                texts["tex"] = to_latex(block, content.name)
            for suffix, text in texts.items():
                (folder / f"{block.name}.{suffix}").write_text(text, encoding="utf-8")
    (folder / "index.md").write_text(render(content), encoding="utf-8")


def to_markdown(table: Table) -> str:
    """The title, the table, and the notes as a list."""
    return str(environment(False).get_template("blocks.md").module.table(table))  # type: ignore[attr-defined]


def to_csv(table: Table) -> str:
    """One line per row, all columns in full precision; no value is an empty cell."""
    return csv_lines(table.records, table.names)


def csv_lines(records: Sequence[Record], names: list[str]) -> str:
    """A header and a line per record: whole numbers stay whole, and no text begins a formula."""
    rows = [[csv_value(record[name]) for name in names] for record in records]
    return pd.DataFrame(rows, columns=names, dtype=object).to_csv(index=False, lineterminator="\n")


def csv_value(value: Any) -> Any:
    """A value as a cell of a CSV file that a spreadsheet shows and does not compute: no text begins a formula.

    Texts of numbers, such as the scores of several runs, stay as they are.
    """
    if not isinstance(value, str):
        return value
    value = printable(value)  # a path may be no text of UTF-8
    return f"'{value}" if value.lstrip()[:1] in FORMULAS and not NUMBERS.fullmatch(value) else value


def to_latex(table: Table, page: str) -> str:
    """The `table` environment, labelled `tab:PAGE-NAME`, with notes; an author places one that is too wide."""
    rows = [[_latex_cell(cell) for cell in cells] for cells in table.cells]
    text = (
        pd.DataFrame(rows, columns=[*map(escape_latex, table.header)])
        .style.hide(axis="index")
        .to_latex(
            hrules=True,
            column_format="".join("l" if column.left else "r" for column in table.shown),
            position="tbp",
            position_float="centering",
            caption=f"{escape_latex(table.title)}.",
            label=f"tab:{page}-{table.name}",
        )
    )
    end, notes = "\\end{table}", escape_latex(" ".join(table.notes))
    below = f"\\par\\smallskip\\begin{{minipage}}{{\\linewidth}}\\scriptsize {notes}\\end{{minipage}}\n"
    return "% needs \\usepackage{booktabs}\n" + text.replace(end, below + end)


def escape_latex(text: str) -> str:
    """A text with nothing that LaTeX would take for a command."""
    text = text.translate(str.maketrans(load_toml("looks.toml")["latex"]))
    return "".join(character if ord(character) < 0x250 else "?" for character in text)


def _latex_cell(cell: TableCell) -> str:
    command = {BOLD: "textbf", ITALIC: "textit"}.get(cell.style)
    return f"\\{command}{{{escape_latex(cell.text)}}}" if command else escape_latex(cell.text)
