"""From what the user asked for to the cells to run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from erlbench.algorithms import registry
from erlbench.envs.catalogue import canonical
from erlbench.envs.options import plain_values
from erlbench.envs.registry import Problem, problem, remember_problems
from erlbench.errors import CellError, UsageError
from erlbench.experiment.algorithm_settings import check_settings, select_settings
from erlbench.experiment.cells import CRITIC, EVAL_FREQ, FINAL_EPISODES, Cell, Origin, differences, usual_frequency
from erlbench.experiment.costs import built_in_costs, load_costs
from erlbench.experiment.estimate import planned_steps
from erlbench.experiment.old_settings import FOLDER, keep_old_settings
from erlbench.experiment.options import RunArguments
from erlbench.experiment.study import entry_name
from erlbench.settings import resolve

ProblemOf = Callable[[str, Mapping[str, Any]], Problem]
RESULTS = Path("results")


def requested_cells(arguments: RunArguments, problem_of: ProblemOf = problem) -> list[Cell]:
    """The cells to run, each directory once; everything about them is checked, nothing is written.

    `problem_of` gives the problem of an environment and its settings. What that adds to the settings, the cells have.
    A `CellError` from it is the cell's own, and meets it when it starts.
    """
    from erlbench.experiment.study_cells import study_cells  # which imports this module

    problem_of = remember_problems(problem_of)
    cells = list((study_cells if arguments.study else _free_cells)(arguments, problem_of))
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
    continued = distinct.values() if arguments.force else map(keep_old_settings, distinct.values())
    return [_check_problem(cell, problem_of) for cell in continued]


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


def _free_cells(arguments: RunArguments, problem_of: ProblemOf) -> Iterator[Cell]:
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
    typed = typed_of(arguments)
    for env in dict.fromkeys(map(canonical, arguments.env)):
        for name, algorithm in listed.items():
            algo, _, own_preset = name.partition("@")
            preset = own_preset or arguments.preset or registry.DEFAULT_PRESET
            given = select_settings(arguments.set, (algo, f"{algo}@{preset}"), algorithm.settings_type)
            settings = resolve(algorithm.settings_type, env, registry.preset(algo, preset), given, owner=algo)
            if arguments.total_minutes is not None and (reason := algorithm.depends_on_budget(settings)):
                raise UsageError(
                    f"'total_minutes' cannot be given with {algo}, which needs its number of steps: {reason}"
                )
            for seed in arguments.seeds or (0,):
                cell = Cell(
                    algo=algo,
                    preset=preset,
                    env=env,
                    seed=seed,
                    settings=settings,
                    name=arguments.name or entry_name(algo, preset),
                    total_timesteps=arguments.total_timesteps or (0 if arguments.total_minutes else 1_000_000),
                    workers=workers_of(algo, arguments.workers),
                    eval_freq=arguments.eval_freq or EVAL_FREQ,
                    eval_episodes=arguments.eval_episodes or 10,
                    final_episodes=arguments.final_episodes or FINAL_EPISODES,
                    evaluate=arguments.evaluate or "after",
                    info=arguments.info,
                    out=Path(arguments.out or RESULTS),
                    env_settings=plain_values(arguments.env_set),
                    total_generations=arguments.total_generations,
                    total_minutes=arguments.total_minutes,
                    origin=Origin(
                        typed | ({"run.preset"} if own_preset else set()) | {f"settings.{key}" for key in given}
                    ),
                    **simulated_of(arguments),
                )
                yield cell if arguments.eval_freq else replace(cell, eval_freq=_usual_frequency(cell, problem_of))


def _usual_frequency(cell: Cell, problem_of: ProblemOf) -> int:
    """Of a cell; the environment is made only where the budget is not plainly a large one."""
    if cell.total_minutes is None and cell.total_generations is None:
        return usual_frequency(cell.total_timesteps)
    try:
        return usual_frequency(planned_steps(cell, problem_of(cell.env, cell.env_settings)))
    except CellError:  # said where the cell is checked
        return EVAL_FREQ


def workers_of(algo: str, wanted: int | None) -> int:
    """Individuals in flight; 0 for an algorithm that has no such number."""
    default = registry.find(algo).default_workers
    return 0 if default is None else wanted or default


def typed_of(arguments: RunArguments) -> frozenset[str]:
    """What was given but settings, as `Origin.typed`, and what says which folder it is."""
    given = {name for name, value in vars(arguments).items() if value not in (None, False, (), {})}
    if arguments.virtual_processors:
        given.add("simulated_processes")
    keys = {f"env_settings.{key}" for key in arguments.env_set}
    return frozenset(keys | {f"run.{name}" for name in given | FOLDER} | ({"costs.*"} if arguments.costs else set()))


def simulated_of(arguments: RunArguments) -> dict[str, Any]:
    """The fields of a cell about simulated time."""
    if not arguments.simulated_time:
        return {}
    return {
        "simulated_time": True,
        "simulated_processes": arguments.virtual_processors,
        "simulated_critic": arguments.simulated_critic or CRITIC,
        "costs": load_costs(Path(arguments.costs)) if arguments.costs else built_in_costs(),
    }
