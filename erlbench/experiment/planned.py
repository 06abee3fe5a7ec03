"""Running a written plan: its cells as requests of `erlbench run`, its values once all of them are decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from erlbench.errors import UsageError
from erlbench.experiment.cells import Cell
from erlbench.experiment.options import RunArguments
from erlbench.experiment.plan import FILE, Plan, PlannedCell
from erlbench.experiment.plan_file import check_new, costs_file, read_plan
from erlbench.settings import toml_values


def study_folder(path: Path, out: str | None, results: Path) -> Path:
    """Where the runs of the plan in `path` go: `out`, else the folder of a plan.toml, else one named after the file."""
    return Path(out) if out else path.parent if path.name == FILE else results / path.stem


def requests(plan: Plan, path: Path, folder: Path) -> list[RunArguments]:
    """One request for each cell of the plan in the file `path`, with seed 0."""
    costs = costs_file(path)
    found = []
    for cell in plan.cells:
        values: dict[str, Any] = {
            "algo": (cell.algo,),
            "env": (cell.env,),
            "seeds": (0,),
            "name": cell.name or None,
            "workers": cell.workers or None,
            "total_timesteps": cell.total_timesteps,
            "total_minutes": cell.total_minutes,
            "set": dict(cell.settings or cell.set),
            "env_set": dict(cell.env_settings),
            "out": str(folder),
            **asdict(plan.evaluation),
        }
        if plan.simulated_time is not None:
            values |= {
                "simulated_time": True,
                "simulated_processes": plan.simulated_time.processes or None,
                "simulated_critic": plan.simulated_time.critic,
                "costs": None if costs is None else str(costs),
            }
        found.append(RunArguments(**values))
    return found


def with_values(plan: Plan, made: Sequence[Cell]) -> Plan:
    """The plan with all values of the cells that were made for it; what it says itself stays as it stands."""
    cells = tuple(_with_values(cell, own) for cell, own in zip(plan.cells, made, strict=True))
    folders = {own.directory: cell.label for cell, own in zip(reversed(cells), reversed(made))}
    for cell, own in zip(cells, made):
        if folders[own.directory] != cell.label:
            raise UsageError(f"'{cell.label}' and '{folders[own.directory]}' share a folder; give one of them a `name`")
    costs = plan.costs
    if costs is None and plan.simulated_time is not None:
        costs = asdict(made[0].costs)
    return replace(plan, cells=cells, costs=costs)


def decided(plan: Plan, cell: PlannedCell) -> frozenset[str]:
    """What the plan says of config.toml, as "table.key": a run that differs in it is refused, as if it were typed."""
    tables = plan.config(cell)
    keys = {f"{table}.{key}" for table in ("run", "settings") for key in tables[table]}
    return frozenset(keys | {"run.total_generations", "env_settings.*", "costs.*"})


def check_folder(written: Plan, plan: Plan, made: Sequence[Cell], folder: Path) -> None:
    """Refuse a folder under another plan, one that held runs before, and a new plan with only some settings.

    `written` is the plan as its file has it, `plan` the one with all values.
    """
    path = folder / FILE
    if path.exists():
        there = read_plan(path)
        if there.hash not in (written.hash, plan.hash):
            raise UsageError(
                f"{folder} is under another plan ({path}, SHA-256 {there.hash[:12]}); choose another --out"
            )
        if there.resolved:
            return
    else:
        check_new(folder)
    for cell, own in zip(plan.cells, made):
        if lacking := toml_values(own.settings).keys() - cell.settings.keys():
            raise UsageError(
                f"[settings] of '{cell.label}' lack {', '.join(sorted(lacking))}; a cell has all settings, or those "
                "that differ from its preset as [cells.set]"
            )


def scored(cell: Cell) -> list[tuple[str, float, float]]:
    """The stretches of a run's evaluation curve that enter scores of its folder's plan: axis, begin, end."""
    return stretches(read_plan(cell.out / FILE), cell)


def stretches(plan: Plan, cell: Cell) -> list[tuple[str, float, float]]:
    """Those of a plan, beside its results."""
    own = {there.label for there in plan.cells if (there.env, there.name) == (cell.env, cell.name)}
    chosen = [contrast for contrast in plan.contrasts if own & {contrast.a, contrast.b}]
    return sorted({(contrast.axis, *contrast.stretch) for contrast in chosen})


def _with_values(cell: PlannedCell, made: Cell) -> PlannedCell:
    return replace(
        cell, algo=f"{made.algo}@{made.preset}", env=made.env, name=made.name, workers=made.workers, set={},
        settings=cell.settings or toml_values(made.settings), env_settings=dict(made.env_settings),
    )  # fmt: skip
