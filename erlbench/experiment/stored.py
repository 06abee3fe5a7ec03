"""What a cell's folder holds wins over what nobody typed, so that no later default breaks an old run."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from erlbench.errors import UsageError
from erlbench.experiment.cells import Cell, differences
from erlbench.experiment.costs import load_costs
from erlbench.experiment.options import RunArguments
from erlbench.files import table_in
from erlbench.options import list_options
from erlbench.records.older import read_config
from erlbench.records.run import CONFIG
from erlbench.settings import resolve, toml_values

FOLDER = frozenset({"env", "algo", "name", "seed"})  # keys of [run] that say which folder it is
# What may end a run, with the value of a cell where [run] does not have it.
ENDS: Mapping[str, Any] = MappingProxyType({"total_timesteps": 0, "total_generations": None, "total_minutes": None})
OPTIONS = list_options(RunArguments)
CELL_OPTIONS = OPTIONS.keys() & {item.name for item in dataclasses.fields(Cell)} - FOLDER - {"out", "costs"}


def as_stored(cell: Cell) -> Cell:
    """`cell` with the values of its folder's config.toml where `cell.origin` says that nobody typed them.

    A cell without an origin, or whose folder has no configuration that can be read, stays as it is. A stored value that
    is none is a `UsageError`.
    """
    path = cell.directory / CONFIG
    if cell.origin is None or not (saved := _read(path)):
        return cell
    origin, run, settings = cell.origin, table_in(saved, "run"), table_in(saved, "settings")
    ends = {} if ENDS.keys().isdisjoint(run) else {k: v for k, v in ENDS.items() if not origin.has_typed("run", k)}
    try:
        values = ends | {
            name: OPTIONS[name].check(run[name], f"'{name}'")
            for name in CELL_OPTIONS
            if name in run and not origin.has_typed("run", name) and not (name == "workers" and run[name] == 0)
        }
        known = toml_values(cell.settings)
        own = {k: v for k, v in settings.items() if not origin.has_typed("settings", k)}
        resolved = resolve(type(cell.settings), cell.env, {}, known | {k: v for k, v in own.items() if k in known})
        env_settings = {
            k: v for k, v in table_in(saved, "env_settings").items() if not origin.has_typed("env_settings", k)
        }
        if "costs" in saved and not origin.has_typed("costs", ""):
            values["costs"] = load_costs(path)
    except UsageError as error:
        raise UsageError(f"{path}: {error}; put the file back, or start anew by --force") from error
    retired = {name: value for name, value in own.items() if name not in known}
    found = replace(cell, **values, settings=resolved, env_settings={**env_settings, **cell.env_settings})
    kept = tuple(
        differences(saved, cell.config(), lambda t, key: key in table_in(saved, t) and not origin.has_typed(t, key))
    )
    return replace(found, origin=replace(origin, retired=retired, kept=kept))


def _read(path: Path) -> dict[str, Any]:
    try:
        return read_config(path)
    except (OSError, ValueError):  # refused with the reason before the run starts
        return {}
