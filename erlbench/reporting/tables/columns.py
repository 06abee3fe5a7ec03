"""Tables by their columns in columns.toml; what it says of a column stands there once, for pages, CSV and captions."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import pandas as pd

from erlbench.reporting.documents import formats
from erlbench.reporting.documents.model import Column, Record, Table
from erlbench.reporting.statistics.curves import updates_per_step


@cache
def _read_lists() -> dict[str, list[dict[str, Any]]]:
    return tomllib.loads((files("erlbench.reporting") / "tables" / "columns.toml").read_text(encoding="utf-8"))


def build_table(name: str, title: str, rows: Sequence[Record], remarks: Sequence[str] = (), **words: Any) -> Table:
    """A table with the columns of its name and the `words` that these need."""
    return Table(name, title, [*build_columns(name, rows, words)], rows, remarks)


def build_columns(name: str, rows: Sequence[Record], words: Mapping[str, Any]) -> Iterator[Column]:
    """The columns of a list of columns.toml; see there."""
    for entry in _read_lists()[name]:
        if "use" in entry:
            yield from build_columns(entry["use"], rows, words)
            continue
        for each in words[entry["each"]] if "each" in entry else ("",):
            told = {key: entry[key].format(each=each, **words) for key in ("title", "note") if key in entry}
            values = tuple(value.format(each=each) for value in entry["values"].split())
            shown = entry.get("shown", True)
            if shown == "filled":
                shown = any(row[value] == row[value] and row[value] != 0 for row in rows for value in values)
            elif isinstance(shown, str):
                shown = bool(words[shown])
            look = {key: entry[key] for key in ("unit", "style", "link", "printed") if key in entry}
            print_values = getattr(formats, entry.get("format", "text"))
            yield Column(values=values, format=print_values, shown=shown, **told, **look)


def cell_rows(cells: pd.DataFrame) -> list[Record]:
    """A row for each cell with its columns, the number of its `runs`, and its gradient updates per training step."""
    rates = [updates_per_step(runs) for runs in cells.done]
    rows: list[Any] = cells.assign(
        algorithm=cells.label,
        name=cells.name.where(cells.exists.astype(bool), ""),
        runs=cells.done.map(len),
        published_env=cells.env_published,
        critic_updates_per_step=[critic for critic, _ in rates],
        actor_updates_per_step=[actor for _, actor in rates],
    ).to_dict("records")
    return rows
