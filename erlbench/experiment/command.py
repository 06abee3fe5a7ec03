"""From what a command or its studies ask for to the cells to run, and where the studies themselves are kept.

What neither states is as in the cell's folder, or a default: no later default breaks an old run, as the folder's
config.toml wins over everything that nobody stated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from erlbench.algorithms import registry
from erlbench.envs.catalogue import canonical, extra_of, installed
from erlbench.envs.options import plain_values
from erlbench.envs.registry import problem, remember_problems
from erlbench.errors import CellError, UsageError, check_known, warn
from erlbench.experiment.arguments import OPTIONS, RunArguments
from erlbench.experiment.cells import IN_RUN, LOCAL, Cell, RunOptions, differences, usual_frequency
from erlbench.experiment.costs import Costs, built_in_costs, load_costs
from erlbench.experiment.estimate import ProblemOf, planned_steps
from erlbench.experiment.studies import FILE, LEFT_OUT, known_studies, profile_places, study_line
from erlbench.experiment.study import NO_PROFILE, Entry, Profile, Study, entry_name, profile_settings, study_text
from erlbench.experiment.toml_file import Keys
from erlbench.files import Table, Values, table_in
from erlbench.machine.process import cores
from erlbench.records.older import DEFAULT_PRESET
from erlbench.records.run import CONFIG, read_config
from erlbench.settings import list_settings, resolve, share_settings

RESULTS = Path("results")
PROFILE = "smoke"
DECIDED = ("preset", "name", "workers", "total_generations", "total_minutes")  # options that belong to a study
MEASURED = ("total_minutes", "eval_freq", "eval_episodes", "final_episodes", "evaluate", "info")  # of a profile
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


class StudyCell(NamedTuple):
    """An entry of a study on an environment, with the budget that is run: cells that differ in the seed alone."""

    study: Study
    name: str  # of the profile
    profile: Profile
    entry: Entry
    env: str


def requested_cells(arguments: RunArguments, problem_of: ProblemOf = problem) -> list[Cell]:
    """The cells to run, each directory once; everything about them is checked, nothing is written.

    `problem_of` gives the problem of an environment and its settings. What that adds to the settings, the cells have.
    A `CellError` from it is the cell's own, and meets it when it starts.
    """
    problem_of = remember_problems(problem_of)
    distinct: dict[Path, Cell] = {}
    for statement in _state_studies(arguments, problem_of) if arguments.study else _state_command(arguments):
        with statement.place:
            cells = [*build_cells(statement, problem_of, fresh=arguments.force)]
        for cell in cells:
            first = distinct.setdefault(cell.directory, cell)
            if different := differences(first.config(), cell.config()):
                raise UsageError(
                    f"two different cells would share the folder {cell.directory} ({'; '.join(different)}); run them "
                    "by two commands, with another --out each"
                )
    return [*distinct.values()]


def _state_command(arguments: RunArguments) -> Iterator[Statement]:
    """What the command states of its cells, which are those of no study."""
    if not arguments.algo or not arguments.env:
        raise UsageError("nothing to run: give --algo and --env, or --study; see `erlbench run --help`")
    if arguments.profile is not None:
        raise UsageError("--profile belongs to --study; without a study give --total-timesteps and the like")
    if arguments.name is not None and len(arguments.algo) > 1:
        raise UsageError("--name needs one algorithm: runs of several would share a folder")
    owners = [(name, name.partition("@")[0]) for name in arguments.algo]
    algos = [algo for _, algo in owners]
    if arguments.workers is not None and all(registry.find(algo).default_workers is None for algo in algos):
        raise UsageError(
            f"--workers means nothing to {', '.join(algos)}, which has no workers of its own; --processes sets how "
            "many processes share the work"
        )
    settings = share_settings(arguments.set, {owner: registry.find(owner[1]).settings_type for owner in owners})
    envs = dict.fromkeys(map(canonical, arguments.env))
    _require_extras((env, algo) for env in envs for algo in algos)
    for env in envs:
        for name, algo in owners:
            preset = name.partition("@")[2] or arguments.preset or DEFAULT_PRESET
            yield Statement(
                algo=algo,
                env=env,
                name=arguments.name or entry_name(algo, preset),
                out=Path(arguments.out or RESULTS),
                seeds=arguments.seeds or (0,),
                run=stated_options(arguments) | ({"preset": preset} if "@" in name or arguments.preset else {}),
                settings=settings[name, algo],
                env_settings=plain_values(arguments.env_set),
            )


def _state_studies(arguments: RunArguments, problem_of: ProblemOf) -> Iterator[Statement]:
    """What the requested studies state of their cells; a `UsageError` where an option belongs to none of them."""
    for option in DECIDED:
        if getattr(arguments, option) not in (None, ()):
            flag = OPTIONS[option].flag
            raise UsageError(f"{flag} cannot be given with --study, which decides it; run --algo and --env instead")
    studies = list_studies(arguments, warn)
    rows = _choose_cells(arguments, [studies[name] for name in arguments.study])
    _require_extras((row.env, row.entry.algo) for row in rows)
    owners = [(row.entry.name, row.entry.algo) for row in rows]
    stated = share_settings(arguments.set, {owner: registry.find(owner[1]).settings_type for owner in owners})
    for study, name, profile in {row.study.name: row[:3] for row in rows}.values():
        settings = {key for entry in study.entries for key in list_settings(registry.find(entry.algo).settings_type)}
        for key in profile.settings:
            with study_line(study, profile_places(study.name, name, "settings", key)):
                check_known(key, settings, f"no algorithm of study '{study.name}' has a setting '{key}'")
    # Where times are compared, schedules are: what they do with cores, not what updates do with those left idle.
    timing = [study for study in studies.values() if study.times_cells]
    timed = {(name, entry.name) for study in timing for name in study.profiles for entry in study.entries}
    for row in rows:
        one_core = row.study.times_cells or (row.name != NO_PROFILE and (row.name, row.entry.name) in timed)
        yield _state_entry(arguments, row, stated[row.entry.name, row.entry.algo], problem_of, one_core)


def _choose_cells(arguments: RunArguments, studies: Iterable[Study]) -> list[StudyCell]:
    """What the command runs of studies; a `UsageError` where one of its options means nothing to them."""
    rows: list[StudyCell] = []
    for study in studies:
        name = arguments.profile or (PROFILE if study.has_profiles else NO_PROFILE)
        if name and not study.has_profiles:
            raise UsageError(f"study '{study.name}' has no profiles, its budget is in the study itself; omit --profile")
        check_known(name, study.profiles, f"unknown profile '{name}' of study '{study.name}'")
        profile = study.profiles[name]
        for env in profile.envs:
            entries = (entry for entry in study.entries if env in profile.entry_envs(entry))
            rows += [StudyCell(study, name, profile, entry, env) for entry in entries]
    profiles = ", ".join(dict.fromkeys(row.name for row in rows if row.name))
    where = f" (profile {profiles})" if profiles else ""
    algos, envs = {row.entry.name for row in rows}, {row.env for row in rows}
    for option, words, valid in (("--algo", arguments.algo, algos), ("--env", arguments.env, envs)):
        for word in words:
            check_known(word, sorted(valid), f"{option} {word} is in none of the studies{where}")
    algos, envs = {*arguments.algo} or algos, {*arguments.env} or envs
    return [row for row in rows if row.entry.name in algos and row.env in envs]


def _state_entry(
    arguments: RunArguments, row: StudyCell, stated: Values, problem_of: ProblemOf, one_core: bool
) -> Statement:
    """What a study states of an entry on an environment, and what the command has in its place."""
    study, name, profile, entry, env = row
    env_settings = {**profile.entry_env_settings(entry), **plain_values(arguments.env_set)}
    place: Callable[[list[Keys]], AbstractContextManager[Any]] = partial(study_line, study)
    if arguments.set or arguments.env_set:  # a mistake may be the command's
        place = nullcontext
    at_entry: list[Keys] = [("studies", study.name, "entries", study.entries.index(entry))]
    with place(at_entry):
        if entry.workers and registry.find(entry.algo).default_workers is None:
            raise UsageError(f"'workers' means nothing to {entry.algo}, which has no workers of its own")
    with place(at_entry if entry.env_settings else profile_places(study.name, name, "envs")):
        longest = problem_of(env, env_settings).env.max_episode_steps
    if arguments.total_timesteps:
        entry = replace(entry, total_timesteps=arguments.total_timesteps)
        profile = replace(profile, entry_timesteps={})
    run = {
        **{name: getattr(entry, name) for name in ("preset", "workers", "processes")},
        **{name: getattr(profile, name) for name in MEASURED},
        "one_core": one_core,
        "simulated_time": False,
        **stated_options(arguments),
        "total_timesteps": profile.most_timesteps(env, entry),
        "total_generations": profile.generations(entry, profile.timesteps(env, entry), longest),
    }
    if simulated := profile.simulated_time:
        if arguments.simulated_time:
            raise UsageError(f"study '{study.name}' decides the simulated time; omit --simulated-time and its options")
        run |= {"simulated_time": True, "costs": Costs(**profile.costs)}
        run |= {"simulated_processes": simulated.processes, "simulated_critic": simulated.critic}
    return Statement(
        algo=entry.algo,
        env=env,
        name=entry.name,
        out=study_folder(study, arguments),
        seeds=arguments.seeds or profile.seeds,
        run=run,
        settings={**profile_settings(profile, entry), **stated},
        env_settings=env_settings,
        states_all_env_settings=True,
        place=place(at_entry),
    )


def run_options(arguments: RunArguments, command_line: Sequence[str]) -> RunOptions:
    """How the cells are run on this machine."""
    studies = list_studies(arguments, lambda message: None) if arguments.study else {}
    texts: dict[Path, dict[str, str]] = {}
    for study in (studies[name] for name in arguments.study):
        path = study_folder(study, arguments) / FILE
        if study.file not in (None, path):
            texts.setdefault(path, {})[study.name] = study_text(study.name, study.as_table)
    processes, is_shared = arguments.processes, arguments.pool == LOCAL and not arguments.slurm
    values: Table = {item.name: getattr(arguments, item.name, None) for item in fields(RunOptions)}
    values |= {
        "processes": processes if processes is not None else 1 if arguments.slurm else cores(),
        "per_node": processes,
        "jobs": arguments.jobs or (None if is_shared and processes is None else 1),
        "worker_memory": arguments.worker_memory and arguments.worker_memory << 20,
        "studies": {name: studies[name].sha256 for name in arguments.study},
        "study_texts": texts,
        "verbosity": -1 if arguments.quiet else int(arguments.verbose),
        "command_line": tuple(command_line),
    }
    return RunOptions(**{name: value for name, value in values.items() if value is not None or name == "jobs"})


def _require_extras(pairs: Iterable[tuple[str, str]]) -> None:
    """Raise a `UsageError` with one command for all that environments and algorithms need and that is not installed."""
    needed: dict[str, str] = {}  # extra -> who needs it first
    for env, algo in pairs:
        if (extra := extra_of(env)) and not installed(extra):
            needed.setdefault(extra, env)
        if extra := registry.missing_extra(algo):
            needed.setdefault(extra, algo)
    if needed:
        raise UsageError(
            f"packages are missing for {', '.join(needed.values())}; install them by: "
            f"pip install 'erlbench[{','.join(needed)}]'"
        )


def list_studies(arguments: RunArguments, warn: Callable[[str], None]) -> dict[str, Study]:
    """All studies that a command can name; those in the folder of its results win, where the first run put them.

    Raises `UsageError` for a mistake in the user's file, which may have the study, unless it is one of the suite's; and
    for a name that is none, with the nearest.
    """
    mistakes: list[str] = []
    studies = known_studies(warn=mistakes.append)
    names = (*arguments.study, arguments.profile or PROFILE)
    folders = [Path(arguments.out)] if arguments.out else [RESULTS / name for name in names]
    stored = known_studies([file for folder in folders if (file := folder / FILE).is_file()], mistakes.append)
    for name in arguments.study:
        if mistakes and (name not in stored or stored[name].file):  # none of the suite's
            raise UsageError(mistakes[0].removesuffix(LEFT_OUT))
        check_known(name, stored, f"unknown study '{name}'")
    for mistake in dict.fromkeys(mistakes):
        warn(mistake)
    for name in arguments.study:
        if name in studies and studies[name].sha256 != stored[name].sha256:
            files = f"{stored[name].file} decides the study '{name}', which {studies[name].file} has otherwise"
            warn(f"{files}; give another --out to run the other one")
    return stored


def study_folder(study: Study, arguments: RunArguments) -> Path:
    """The folder of a study's results: --out, or one named after the profile, or after a study that has none."""
    name = arguments.profile or PROFILE if study.has_profiles else study.name
    return Path(arguments.out or RESULTS / name)


def stated_options(arguments: RunArguments) -> Table:
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
    usual = _fill(statement, problem_of, {}, statement.out)
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
    registry.check_observations(cell.algo, task, cell.env)
    registry.find(cell.algo).check(cell.settings, task)
    fresh = {"fresh": task.env.fresh} if task.env.fresh else {}
    return replace(cell, env_settings={**fresh, **cell.env_settings})


def _fill(statement: Statement, problem_of: ProblemOf, saved: Values, path: Path) -> Cell:
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
