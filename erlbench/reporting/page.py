"""The page of one comparison: its tables and figures, written to a folder of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from erlbench.reporting.aggregate import aggregate_table
from erlbench.reporting.column_figure import draw_columns
from erlbench.reporting.comparison import Cell, Comparison, Group
from erlbench.reporting.csvfile import Warn
from erlbench.reporting.curve_figure import draw_curves
from erlbench.reporting.options import Options
from erlbench.reporting.profile_figure import draw_profiles
from erlbench.reporting.published import Published
from erlbench.reporting.reach import reach_table
from erlbench.reporting.runs import Run
from erlbench.reporting.scores import metrics_table, scores_table
from erlbench.reporting.style import FORMATS
from erlbench.reporting.tables import NONE, Table, escape, number, share, to_markdown
from erlbench.reporting.timeline import Timeline, load_timeline
from erlbench.reporting.timeline_figure import draw_timelines
from erlbench.reporting.timing import times_table

MOST_PANELS = 8  # timelines in a figure
TIMELINES = ("time", "timeline", "all")


@dataclass(frozen=True)
class Page:
    """A written page, as the index links it."""

    comparison: Comparison
    link: str
    done: int
    planned: int


def write_page(comparison: Comparison, out: Path, published: Published, warn: Warn, options: Options) -> Page:
    """Write the folder `out/<name>/` with its `index.md`."""
    folder = out / comparison.name
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"# {escape(comparison.title)}", "", "[Back to the report](../index.md)", ""]
    if comparison.source:
        lines += [f"After {comparison.table} of the {comparison.source}, profile `{comparison.profile}`.", ""]
    tables, lines_after = _tables(comparison, published, warn, options), []
    if comparison.kind in ("scores", "curves", "all"):
        for group in comparison.groups:
            lines_after += _curves(comparison, group, folder, published, options)
    for group in comparison.groups if options.panels else ():
        lines_after += _columns(comparison, group, folder, options, warn)
    if comparison.kind == "scores":
        caption = draw_profiles(comparison, folder / "profile")
        lines_after += _figure("profile", "Performance profile", caption) if caption else []
    for group in comparison.groups:
        timelines, labels = _timelines(comparison, group, warn)
        if timelines or comparison.kind == "timeline":
            tables.append(_utilisation(comparison, group, timelines))
        if timelines:
            lines_after += _figure(f"timeline-{_slug(comparison, group)}", f"Worker timeline, {group.env}",
                                   draw_timelines(timelines, labels, group.env,
                                                  folder / f"timeline-{_slug(comparison, group)}"))  # fmt: skip
    for table in tables:
        table.write(folder)
        files = ", ".join(f"[{suffix}]({table.name}.{suffix})" for suffix in ("md", "tex", "csv"))
        lines += [to_markdown(table), f"Files: {files}", ""]
    (folder / "index.md").write_text("\n".join([*lines, *lines_after]), encoding="utf-8")
    cells = [cell for group in comparison.groups for cell in group.cells if cell.exists]
    return Page(
        comparison, f"{comparison.name}/index.md", sum(len(c.done) for c in cells), sum(c.planned for c in cells)
    )


def _tables(comparison: Comparison, published: Published, warn: Warn, options: Options) -> list[Table]:
    kind = comparison.kind
    tables: list[Table | None] = []
    if kind in ("scores", "curves", "all"):
        tables.append(scores_table(comparison, published))
        if options.reach is not None:
            tables.append(reach_table(comparison, options.reach, published, warn))
    if kind in ("scores", "all"):
        tables += [aggregate_table(comparison), metrics_table(comparison)]
    if kind in ("time", "all"):
        tables.append(times_table(comparison, published, warn))
    return [table for table in tables if table is not None]


def _curves(
    comparison: Comparison, group: Group, folder: Path, published: Published, options: Options
) -> list[str]:  # fmt: skip
    name = f"curves-{_slug(comparison, group)}"
    caption = draw_curves(comparison, group, published, folder / name, options)
    return _figure(name, f"Learning curves, {comparison.group_name(group)}", caption) if caption else []


def _columns(comparison: Comparison, group: Group, folder: Path, options: Options, warn: Warn) -> list[str]:
    name = f"columns-{_slug(comparison, group)}"
    caption = draw_columns(group, options, folder / name, warn)
    return _figure(name, f"Columns of train.csv, {comparison.group_name(group)}", caption) if caption else []


def _timelines(comparison: Comparison, group: Group, warn: Warn) -> tuple[list[Timeline], list[str]]:
    """One run of each cell that has tasks: the first that is done, else the first."""
    if comparison.kind not in TIMELINES:
        return [], []
    timelines, labels = [], []
    for cell in [cell for cell in group.cells if cell.runs][:MOST_PANELS]:
        timeline = load_timeline(_representative(cell), warn)
        if timeline is not None:
            timelines.append(timeline)
            labels.append(cell.label)
    return timelines, labels


def _representative(cell: Cell) -> Run:
    return (cell.done or cell.runs)[0]


def _utilisation(comparison: Comparison, group: Group, timelines: list[Timeline]) -> Table:
    kinds = sorted({kind for timeline in timelines for kind in timeline.shares()})
    rows, records = [], []
    for cell in (cell for cell in group.cells if cell.exists):
        name = comparison.group_name(group)
        timeline = next((timeline for timeline in timelines if timeline.run in cell.runs), None)
        if timeline is None:
            rows.append((name, cell.label, *[NONE] * (5 + len(kinds)), cell.status))
            continue
        busy, shares = timeline.utilisation(), timeline.shares()
        first, last = timeline.span
        average = sum(busy.values()) / len(busy)
        rows.append((
            name, cell.label, str(timeline.run.seed), timeline.run.workers or NONE, str(len(busy)),
            number(last - first), share(average),
            *(share(shares[kind]) if kind in shares else NONE for kind in kinds), cell.status,
        ))  # fmt: skip
        records.append({
            "env": group.env, "total_timesteps": group.total_timesteps, "name": cell.name, "algorithm": cell.label,
            "seed": timeline.run.seed, "workers": timeline.run.workers, "processes": len(busy), "span_s": last - first,
            "utilisation": average, **{f"utilisation_{process}": value for process, value in busy.items()},
            **{f"share_{kind}": value for kind, value in shares.items()}, "status": cell.status,
        })  # fmt: skip
    columns = ("Environment", "Algorithm", "Seed", "Workers", "Processes", "Span (s)", "Busy", *kinds, "Status")
    notes = (
        "Span: from the first to the last training task. Busy: share of the span during which a process worked, mean "
        "over processes. The kinds of tasks: their shares of the busy time. One run a row: the "
        "first that is finished, else the first.",
    )
    title = f"{comparison.title}: use of the processes, {comparison.group_name(group)}"
    return Table(f"utilisation-{_slug(comparison, group)}", title, columns, tuple(rows), notes, tuple(records))


def _figure(name: str, title: str, caption: list[str]) -> list[str]:
    files = ", ".join(f"[{suffix}]({name}.{suffix})" for suffix in FORMATS)
    return [f"![{escape(title)}]({name}.png)", "", escape(" ".join(caption)) + f" Files: {files}", ""]


def _slug(comparison: Comparison, group: Group) -> str:
    budget = f"-{group.total_timesteps}" if comparison.kind == "all" else ""
    return re.sub(r"[^A-Za-z0-9.-]+", "_", group.env) + budget
