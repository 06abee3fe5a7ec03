"""From what a command or its studies ask for to the cells to run, and where the studies themselves are kept.

What neither states is as in the cell's folder, or a default: no later default breaks an old run, as the folder's
config.toml wins over everything that was not stated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from erlbench.algorithms import registry
from erlbench.envs.catalogue import canonical, find_extra, installed
from erlbench.envs.registry import problem, remember_problems
from erlbench.errors import CellError, UsageError
from erlbench.experiment.arguments import OPTIONS, RunArguments
from erlbench.experiment.cells import IN_RUN, LOCAL, Cell, RunOptions, differences, entry_name, usual_frequency
from erlbench.experiment.costs import built_in_costs, load_costs
from erlbench.experiment.estimate import ProblemOf, planned_steps
from erlbench.files import Table, Values, table_in
from erlbench.machine.process import cores
from erlbench.records.older import DEFAULT_PRESET
from erlbench.records.run import CONFIG, read_config
from erlbench.settings import list_settings, resolve, share_settings

RESULTS = Path("results")
PLACELESS = nullcontext()
FOLDER = frozenset({"env", "algo", "name", "seed"})  # keys of [run] that name its folder
STORED = {*IN_RUN, "simulated_processes", "simulated_critic"} - FOLDER


@dataclass(frozen=True, kw_only=True)
class Statement:
    """What is stated of the cells of one algorithm on one environment."""

    algo: str
    env: str
    name: str
    out: Path
    seeds: Sequence[int]
    run: Values  # fields of `Cell` by name; None for its default
    settings: Values
    env_settings: Values
    states_all_env_settings: bool = False  # so that the environment has no settings of the folder
    place: AbstractContextManager[Any] = PLACELESS  # adds to a `UsageError` where this is stated

    @property
    def keys(self) -> frozenset[str]:
        """`table.key` of all that is stated."""
        tables = {"run": {*self.run, *FOLDER}, "settings": self.settings, "env_settings": self.env_settings}
        return frozenset(f"{table}.{key}" for table, keys in tables.items() for key in keys)


def requested_cells(arguments: RunArguments, find_problem: ProblemOf = problem) -> list[Cell]:
    """The cells to run, each directory once; everything about them is checked, nothing is written.

    `find_problem` gives the problem of an environment and its settings. What that adds to the settings, the cells have.
    A `CellError` from it concerns one cell, and is raised again when it starts.
    """
    find_problem = remember_problems(find_problem)
    if arguments.study:
        from erlbench.experiment.study_cells import make_study_statements

        statements = make_study_statements(arguments, find_problem)
    else:
        statements = _make_statements(arguments)
    distinct: dict[Path, Cell] = {}
    for statement in statements:
        with statement.place:
            cells = [*build_cells(statement, find_problem, fresh=arguments.force)]
            if arguments.study and statement.run["workers"] and not any(cell.workers for cell in cells):
                raise UsageError(f"'workers' means nothing to {statement.algo}, which has no workers")
        for cell in cells:
            first = distinct.setdefault(cell.directory, cell)
            if different := differences(first.config(), cell.config()):
                raise UsageError(
                    f"two different cells would share the folder {cell.directory} ({'; '.join(different)}); run them "
                    "by two commands, with another --out each"
                )
    if arguments.workers is not None and not any(cell.workers for cell in distinct.values()):
        raise UsageError(
            f"--workers means nothing to {', '.join(arguments.algo)}, which has no workers; --processes "
            "sets how many processes share the work"
        )
    return [*distinct.values()]


def _make_statements(arguments: RunArguments) -> Iterator[Statement]:
    """The command's statement on its cells, which are in no study."""
    if not arguments.algo or not arguments.env:
        raise UsageError("nothing to run: give --algo and --env, or --study; see `erlbench run --help`")
    if arguments.profile is not None:
        raise UsageError("--profile belongs to --study; without a study give --total-timesteps and the like")
    if arguments.name is not None and len(arguments.algo) > 1:
        raise UsageError("--name needs one algorithm: runs of several would share a folder")
    owners = [(name, name.partition("@")[0]) for name in arguments.algo]
    algos = [algo for _, algo in owners]
    settings = share_settings(arguments.set, {owner: registry.find(owner[1]).settings_type for owner in owners})
    envs = dict.fromkeys(map(canonical, arguments.env))
    require_extras((env, algo) for env in envs for algo in algos)
    for env in envs:
        for name, algo in owners:
            preset = name.partition("@")[2] or arguments.preset or DEFAULT_PRESET
            yield Statement(
                algo=algo,
                env=env,
                name=arguments.name or entry_name(algo, preset),
                out=arguments.out or RESULTS,
                seeds=arguments.seeds or (0,),
                run=stated_options(arguments) | ({"preset": preset} if "@" in name or arguments.preset else {}),
                settings=settings[name, algo],
                env_settings=dict(arguments.env_set),
            )


def run_options(arguments: RunArguments, command_line: Sequence[str]) -> RunOptions:
    """How the cells are run on this machine."""
    studies: Table = {}
    if arguments.study:
        from erlbench.experiment.study_cells import study_options

        studies = study_options(arguments)
    processes = arguments.processes
    values: Table = {item.name: getattr(arguments, item.name, None) for item in fields(RunOptions)}
    values |= {
        "processes": processes if processes is not None else 1 if arguments.slurm else cores(),
        "per_node": processes,
        "jobs": arguments.jobs or (None if arguments.pool == LOCAL and processes is None else 1),
        **studies,
        "verbosity": -1 if arguments.quiet else int(arguments.verbose),
        "command_line": tuple(command_line),
    }
    return RunOptions(**{name: value for name, value in values.items() if value is not None or name == "jobs"})


def require_extras(pairs: Iterable[tuple[str, str]]) -> None:
    """Raise a `UsageError` with one command for all that environments and algorithms need and that is not installed."""
    needed: dict[str, str] = {}  # extra -> who needs it first
    for env, algo in pairs:
        if (extra := find_extra(env)) and not installed(extra):
            needed.setdefault(extra, env)
        if extra := registry.missing_extra(algo):
            needed.setdefault(extra, algo)
    if needed:
        raise UsageError(
            f"packages are missing for {', '.join(needed.values())}; install them by: "
            f"pip install 'erlbench[{','.join(needed)}]'"
        )


def stated_options(arguments: RunArguments) -> Table:
    """The options of a command that are fields of a cell, as far as they are given."""
    given = {name: value for name in STORED if (value := getattr(arguments, name, None)) not in (None, False, ())}
    if processors := given.get("simulated_time"):
        given |= {"simulated_time": True} | ({} if processors is True else {"simulated_processes": processors})
    return given | ({"costs": load_costs(arguments.costs)} if arguments.costs else {})


def build_cells(statement: Statement, find_problem: ProblemOf, *, fresh: bool = False) -> Iterator[Cell]:
    """A cell for each seed, checked on its environment; a `fresh` one leaves its folder out.

    A cell whose folder has no configuration that can be read is also fresh. A stored value that is none is a
    `UsageError`.
    """
    usual = _fill(statement, find_problem, {}, statement.out)
    for seed in statement.seeds:
        cell = replace(usual, seed=seed)
        path = cell.directory / CONFIG
        try:
            saved = {} if fresh else read_config(path)
        except (OSError, ValueError):  # refused with the reason before the run starts
            saved = {}
        if not saved:
            yield _check(cell, find_problem)
            continue
        try:
            kept = replace(_fill(statement, find_problem, saved, path), seed=seed)
            lines = differences(saved, cell.config())
            kept = replace(kept, kept=tuple(line for line in lines if line not in differences(saved, kept.config())))
            yield _check(kept, find_problem)
        except UsageError as error:
            _check(cell, find_problem)  # what the command alone is refused for is no fault of the file
            raise UsageError(f"{path}: {error}; put the file back, or start anew by --force") from error


def _check(cell: Cell, find_problem: ProblemOf) -> Cell:
    """Refuse an environment that does not go with the algorithm; the cell as it is run."""
    try:
        task = find_problem(cell.env, cell.env_settings)
    except CellError:
        return cell
    registry.check_observations(cell.algo, task, cell.env)
    registry.find(cell.algo).check(cell.settings, task)
    fresh = {"fresh": task.env.fresh} if task.env.fresh else {}
    return replace(cell, env_settings={**fresh, **cell.env_settings})


def _fill(statement: Statement, find_problem: ProblemOf, saved: Values, path: Path) -> Cell:
    """The cell of seed 0, with the values of `saved`, the configuration in `path`, where nothing is stated."""
    run, settings, env_settings = (table_in(saved, table) for table in ("run", "settings", "env_settings"))
    stored = {key: OPTIONS[key].check(run[key], f"'{key}'") for key in STORED & run.keys() if run[key] != 0}
    values: Table = {key: value for key, value in {**stored, **statement.run}.items() if value is not None}
    algorithm, preset = registry.find(statement.algo), values.setdefault("preset", DEFAULT_PRESET)
    names = list_settings(algorithm.settings_type)
    given = {**{key: value for key, value in settings.items() if key in names}, **statement.settings}
    usual = registry.preset(statement.algo, preset)
    resolved = resolve(algorithm.settings_type, statement.env, usual, given, owner=statement.algo)
    minutes = values.get("total_minutes")
    if minutes and (reason := algorithm.depends_on_budget(resolved)):
        raise UsageError(
            f"'total_minutes' cannot be given with {statement.algo}, which needs its number of steps: {reason}"
        )
    values.setdefault("total_timesteps", 0 if minutes else 1_000_000)
    values.setdefault("costs", load_costs(path) if "costs" in saved else built_in_costs())
    workers = algorithm.usual_workers(resolved)
    values["workers"] = values.get("workers", workers) if workers else 0
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
        steps = planned_steps(cell, find_problem(cell.env, cell.env_settings))
    except CellError:  # met when the cell starts
        return cell
    return replace(cell, eval_freq=usual_frequency(steps))
