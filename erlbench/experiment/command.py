"""From what the user asked for to the cells to run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from erlbench.algorithms import registry
from erlbench.envs.catalogue import canonical
from erlbench.envs.options import plain_values
from erlbench.envs.registry import problem, remember_problems
from erlbench.errors import CellError, UsageError
from erlbench.experiment.arguments import RunArguments
from erlbench.experiment.build import ProblemOf, Statement, build_cells, stated_options
from erlbench.experiment.cells import Cell, differences
from erlbench.experiment.study import entry_name
from erlbench.experiment.study_cells import RESULTS, study_statements
from erlbench.settings import check_settings, select_settings


def requested_cells(arguments: RunArguments, problem_of: ProblemOf = problem) -> list[Cell]:
    """The cells to run, each directory once; everything about them is checked, nothing is written.

    `problem_of` gives the problem of an environment and its settings. What that adds to the settings, the cells have.
    A `CellError` from it is the cell's own, and meets it when it starts.
    """
    problem_of = remember_problems(problem_of)
    statements = study_statements(arguments, problem_of) if arguments.study else _state(arguments)
    cells = [cell for each in statements for cell in build_cells(each, problem_of, fresh=arguments.force)]
    for algo in dict.fromkeys(cell.algo for cell in cells):
        registry.require(algo)
    distinct: dict[Path, Cell] = {}
    for cell in cells:
        first = distinct.setdefault(cell.directory, cell)
        if different := differences(first.config(), cell.config()):
            raise UsageError(
                f"two different cells would share the folder {cell.directory} ({'; '.join(different)}); run them by "
                "two commands, with another --out each"
            )
    return [_check_problem(cell, problem_of) for cell in distinct.values()]


def _check_problem(cell: Cell, problem_of: ProblemOf) -> Cell:
    """Refuse an environment that does not go with the algorithm; the cell as it is run."""
    try:
        task = problem_of(cell.env, cell.env_settings)
    except CellError:
        return cell
    registry.check_observations(cell.algo, task.observation_size, cell.env)
    registry.find(cell.algo).check(cell.settings, task)
    fresh = {"fresh": task.env.fresh} if task.env.fresh else {}
    return replace(cell, env_settings={**fresh, **cell.env_settings})


def _state(arguments: RunArguments) -> Iterator[Statement]:
    """What the command states of its cells, which are those of no study."""
    if not arguments.algo or not arguments.env:
        raise UsageError("nothing to run: give --algo and --env, or --study; see `erlbench run --help`")
    if arguments.profile is not None:
        raise UsageError("--profile belongs to --study; without a study give --total-timesteps and the like")
    if arguments.name is not None and len(arguments.algo) > 1:
        raise UsageError("--name needs one algorithm: runs of several would share a folder")
    listed = {name: registry.find(name.partition("@")[0]) for name in arguments.algo}
    if arguments.workers is not None and all(algorithm.default_workers is None for algorithm in listed.values()):
        raise UsageError(
            f"--workers means nothing to {', '.join(name.partition('@')[0] for name in listed)}, which has no workers "
            "of its own; --processes sets how many processes share the work"
        )
    check_settings(arguments.set, {name: algorithm.settings_type for name, algorithm in listed.items()})
    for env in dict.fromkeys(map(canonical, arguments.env)):
        for name, algorithm in listed.items():
            algo, _, own_preset = name.partition("@")
            preset = own_preset or arguments.preset
            names = (algo, f"{algo}@{preset or registry.DEFAULT_PRESET}")
            yield Statement(
                algo=algo,
                env=env,
                name=arguments.name or entry_name(algo, preset or registry.DEFAULT_PRESET),
                out=Path(arguments.out or RESULTS),
                seeds=arguments.seeds or (0,),
                run=stated_options(arguments) | ({"preset": preset} if preset else {}),
                settings=select_settings(arguments.set, names, algorithm.settings_type),
                env_settings=plain_values(arguments.env_set),
            )
