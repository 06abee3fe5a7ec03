"""Values of a cell's folder win over what nobody typed, so that no later default breaks an old run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from erlbench.errors import UsageError
from erlbench.experiment.cells import ABSENT, IN_RUN, Cell, differences
from erlbench.experiment.costs import load_costs
from erlbench.experiment.options import OPTIONS
from erlbench.files import table_in
from erlbench.records.config import read_config
from erlbench.records.run import CONFIG
from erlbench.settings import resolve, toml_values

FOLDER = frozenset({"env", "algo", "name", "seed"})  # keys of [run] that say which folder it is
RUN_OPTIONS = {*IN_RUN, "simulated_processes", "simulated_critic"} - FOLDER


def keep_old_settings(cell: Cell) -> Cell:
    """`cell` with the values of its folder's config.toml where `cell.origin` says that nobody typed them.

    A cell whose folder has no configuration that can be read stays as it is. A stored value that
    is none is a `UsageError`.
    """
    path, origin = cell.directory / CONFIG, cell.origin
    try:
        saved = read_config(path)
    except (OSError, ValueError):  # refused with the reason before the run starts
        return cell

    def untyped(name: str, table: Any) -> dict[str, Any]:
        return {key: value for key, value in table.items() if not origin.has_typed(name, key)}

    run, settings, env_settings = (untyped(name, table_in(saved, name)) for name in ("run", "settings", "env_settings"))
    if run.get("workers") == 0:
        del run["workers"]
    values = {} if ABSENT.keys().isdisjoint(table_in(saved, "run")) else untyped("run", ABSENT)
    usual = toml_values(cell.settings)
    try:
        values |= {name: OPTIONS[name].check(run[name], f"'{name}'") for name in RUN_OPTIONS & run.keys()}
        old = {name: value for name, value in settings.items() if name in usual}
        values["settings"] = resolve(type(cell.settings), cell.env, {}, usual | old)
        if "costs" in saved and not origin.has_typed("costs", ""):
            values["costs"] = load_costs(path)
    except UsageError as error:
        raise UsageError(f"{path}: {error}; put the file back, or start anew by --force") from error
    retired = {name: value for name, value in settings.items() if name not in usual}
    kept = differences(saved, cell.config(), lambda name, key: key in untyped(name, table_in(saved, name)))
    return replace(
        cell,
        **values,
        env_settings={**env_settings, **cell.env_settings},
        origin=replace(origin, retired=retired, kept=tuple(kept)),
    )
