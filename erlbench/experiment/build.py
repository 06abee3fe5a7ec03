"""Cells from what a command or a study states; what neither does is as in the cell's folder, or a default.

So no later default breaks an old run: the folder's config.toml wins over everything that nobody stated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from erlbench.algorithms import registry
from erlbench.envs.registry import Problem
from erlbench.errors import CellError, UsageError
from erlbench.experiment.arguments import OPTIONS, RunArguments
from erlbench.experiment.cells import ABSENT, EVAL_FREQ, IN_RUN, Cell, differences, usual_frequency
from erlbench.experiment.costs import built_in_costs, load_costs
from erlbench.experiment.estimate import planned_steps
from erlbench.files import table_in
from erlbench.records.config import read_config
from erlbench.records.run import CONFIG
from erlbench.settings import list_settings, resolve

ProblemOf = Callable[[str, Mapping[str, Any]], Problem]
NOTHING: Mapping[str, Any] = MappingProxyType({})
HERE = Path(CONFIG)
FOLDER = frozenset({"env", "algo", "name", "seed"})  # keys of [run] that say which folder it is
STORED = {*IN_RUN, "simulated_processes", "simulated_critic"} - FOLDER


@dataclass(frozen=True, kw_only=True)
class Statement:
    """What is stated of the cells of one algorithm on one environment."""

    algo: str
    env: str
    name: str
    out: Path
    seeds: Sequence[int]
    run: Mapping[str, Any]  # fields of `Cell` by name; None for its default
    settings: Mapping[str, Any]
    env_settings: Mapping[str, Any]
    states_all_env_settings: bool = False  # so that the environment has no settings of the folder

    @property
    def keys(self) -> frozenset[str]:
        """`table.key` of all that is stated."""
        tables = {"run": {*self.run, *FOLDER}, "settings": self.settings, "env_settings": self.env_settings}
        return frozenset(f"{table}.{key}" for table, keys in tables.items() for key in keys)


def stated_options(arguments: RunArguments) -> dict[str, Any]:
    """The options of a command that are fields of a cell, as far as they are given."""
    given = {name: value for name in STORED if (value := getattr(arguments, name, None)) not in (None, False, ())}
    if arguments.simulated_time:
        given["simulated_time"] = True
    if arguments.virtual_processors:
        given["simulated_processes"] = arguments.virtual_processors
    if arguments.costs:
        given["costs"] = load_costs(Path(arguments.costs))
    return given


def build_cells(statement: Statement, problem_of: ProblemOf, *, fresh: bool = False) -> Iterator[Cell]:
    """A cell for each seed; a `fresh` one leaves its folder out.

    A cell whose folder has no configuration that can be read is fresh, too. A stored value that is none is a
    `UsageError`.
    """
    for seed in statement.seeds:
        cell = _fill(statement, seed, problem_of)
        path = cell.directory / CONFIG
        try:
            saved = {} if fresh else read_config(path)
        except (OSError, ValueError):  # refused with the reason before the run starts
            saved = {}
        if not saved:
            yield cell
            continue
        try:
            kept = _fill(statement, seed, problem_of, saved, path)
        except UsageError as error:
            raise UsageError(f"{path}: {error}; put the file back, or start anew by --force") from error
        lines = differences(saved, cell.config())
        yield replace(kept, kept=tuple(line for line in lines if line not in differences(saved, kept.config())))


def _fill(
    statement: Statement, seed: int, problem_of: ProblemOf, saved: Mapping[str, Any] = NOTHING, path: Path = HERE
) -> Cell:
    """The cell, with the values of `saved`, the configuration in `path`, where nothing is stated."""
    run, settings, env_settings = (table_in(saved, table) for table in ("run", "settings", "env_settings"))
    stored = {} if ABSENT.keys().isdisjoint(run) else {**ABSENT}
    stored |= {key: OPTIONS[key].check(run[key], f"'{key}'") for key in STORED & run.keys() if run[key] != 0}
    values: dict[str, Any] = {key: value for key, value in {**stored, **statement.run}.items() if value is not None}
    algorithm, preset = registry.find(statement.algo), values.setdefault("preset", registry.DEFAULT_PRESET)
    names = list_settings(algorithm.settings_type)
    given = {**{key: value for key, value in settings.items() if key in names}, **statement.settings}
    usual = registry.preset(statement.algo, preset)
    resolved = resolve(algorithm.settings_type, statement.env, usual, given, owner=statement.algo)
    minutes = values.get("total_minutes")
    if minutes and (reason := algorithm.depends_on_budget(resolved)):
        message = f"'total_minutes' cannot be given with {statement.algo}, which needs its number of steps: {reason}"
        raise UsageError(message)
    values.setdefault("total_timesteps", 0 if minutes else 1_000_000)
    values.setdefault("costs", load_costs(path) if "costs" in saved else built_in_costs())
    values["workers"] = values.get("workers", algorithm.default_workers) if algorithm.default_workers else 0
    values["info"] = tuple(values.get("info", ()))
    cell = Cell(
        algo=statement.algo,
        name=statement.name,
        env=statement.env,
        seed=seed,
        settings=resolved,
        out=statement.out,
        env_settings={**({} if statement.states_all_env_settings else env_settings), **statement.env_settings},
        stated=statement.keys,
        saved=saved,
        **values,
    )
    return cell if "eval_freq" in values else replace(cell, eval_freq=_usual_frequency(cell, problem_of))


def _usual_frequency(cell: Cell, problem_of: ProblemOf) -> int:
    """Of a cell; the environment is made only where the budget is not plainly a large one."""
    if cell.total_minutes is None and cell.total_generations is None:
        return usual_frequency(cell.total_timesteps)
    try:
        return usual_frequency(planned_steps(cell, problem_of(cell.env, cell.env_settings)))
    except CellError:  # said where the cell is checked
        return EVAL_FREQ
