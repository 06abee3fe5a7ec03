"""Cells from what a command or a study states; what neither does is as in the cell's folder, or a default.

So no later default breaks an old run: the folder's config.toml wins over everything that nobody stated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from erlbench.algorithms import registry
from erlbench.errors import CellError, UsageError
from erlbench.experiment.arguments import OPTIONS, RunArguments
from erlbench.experiment.cells import IN_RUN, Cell, differences, usual_frequency
from erlbench.experiment.costs import built_in_costs, load_costs
from erlbench.experiment.estimate import ProblemOf, planned_steps
from erlbench.files import table_in
from erlbench.records.older import DEFAULT_PRESET
from erlbench.records.run import CONFIG, read_config
from erlbench.settings import list_settings, resolve

NOTHING: Mapping[str, Any] = MappingProxyType({})
HERE = Path(CONFIG)
PLACELESS = nullcontext()
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
    place: AbstractContextManager[Any] = PLACELESS  # adds to a `UsageError` where this is stated

    @property
    def keys(self) -> frozenset[str]:
        """`table.key` of all that is stated."""
        tables = {"run": {*self.run, *FOLDER}, "settings": self.settings, "env_settings": self.env_settings}
        return frozenset(f"{table}.{key}" for table, keys in tables.items() for key in keys)


def stated_options(arguments: RunArguments) -> dict[str, Any]:
    """The options of a command that are fields of a cell, as far as they are given."""
    given = {name: value for name in STORED if (value := getattr(arguments, name, None)) not in (None, False, ())}
    if processors := given.get("simulated_time"):
        given |= {"simulated_time": True} | ({} if processors is True else {"simulated_processes": processors})
    return given | ({"costs": load_costs(Path(arguments.costs))} if arguments.costs else {})


def build_cells(statement: Statement, problem_of: ProblemOf, *, fresh: bool = False) -> Iterator[Cell]:
    """A cell for each seed, checked on its environment; a `fresh` one leaves its folder out.

    A cell whose folder has no configuration that can be read is fresh, too. A stored value that is none is a
    `UsageError`.
    """
    usual = _fill(statement, problem_of)
    for seed in statement.seeds:
        cell = replace(usual, seed=seed)
        path = cell.directory / CONFIG
        try:
            saved = {} if fresh else read_config(path)
        except (OSError, ValueError):  # refused with the reason before the run starts
            saved = {}
        if not saved:
            yield _check(cell, problem_of)
            continue
        try:
            kept = replace(_fill(statement, problem_of, saved, path), seed=seed)
            lines = differences(saved, cell.config())
            kept = replace(kept, kept=tuple(line for line in lines if line not in differences(saved, kept.config())))
            yield _check(kept, problem_of)
        except UsageError as error:
            raise UsageError(f"{path}: {error}; put the file back, or start anew by --force") from error


def _check(cell: Cell, problem_of: ProblemOf) -> Cell:
    """Refuse an environment that does not go with the algorithm; the cell as it is run."""
    try:
        task = problem_of(cell.env, cell.env_settings)
    except CellError:
        return cell
    registry.check_observations(cell.algo, task.observation_size, cell.env)
    registry.find(cell.algo).check(cell.settings, task)
    fresh = {"fresh": task.env.fresh} if task.env.fresh else {}
    return replace(cell, env_settings={**fresh, **cell.env_settings})


def _fill(statement: Statement, problem_of: ProblemOf, saved: Mapping[str, Any] = NOTHING, path: Path = HERE) -> Cell:
    """The cell of seed 0, with the values of `saved`, the configuration in `path`, where nothing is stated."""
    run, settings, env_settings = (table_in(saved, table) for table in ("run", "settings", "env_settings"))
    stored = {key: OPTIONS[key].check(run[key], f"'{key}'") for key in STORED & run.keys() if run[key] != 0}
    values: dict[str, Any] = {key: value for key, value in {**stored, **statement.run}.items() if value is not None}
    algorithm, preset = registry.find(statement.algo), values.setdefault("preset", DEFAULT_PRESET)
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
        seed=0,
        settings=resolved,
        out=statement.out,
        env_settings={**({} if statement.states_all_env_settings else env_settings), **statement.env_settings},
        stated=statement.keys,
        saved=saved,
        **values,
    )
    if "eval_freq" in values:
        return cell
    if not minutes and cell.total_generations is None:  # the environment need not be made
        return replace(cell, eval_freq=usual_frequency(cell.total_timesteps))
    try:
        steps = planned_steps(cell, problem_of(cell.env, cell.env_settings))
    except CellError:  # met when the cell starts
        return cell
    return replace(cell, eval_freq=usual_frequency(steps))
