"""From what a command or its studies ask for to the cells to run, and where the studies themselves are kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

from erlbench.algorithms import registry
from erlbench.envs.catalogue import canonical, extra_of, installed
from erlbench.envs.options import plain_values
from erlbench.envs.registry import Problem, problem, remember_problems
from erlbench.errors import CellError, UsageError, check_known, warn
from erlbench.experiment.arguments import OPTIONS, RunArguments
from erlbench.experiment.build import ProblemOf, Statement, build_cells, stated_options
from erlbench.experiment.cells import Cell, differences
from erlbench.experiment.costs import Costs
from erlbench.experiment.studies import (
    BENCHMARKS,
    FILE,
    find_profile,
    find_study,
    known_studies,
    open_studies,
    profile_places,
)
from erlbench.experiment.study import (
    NO_PROFILE,
    Entry,
    Profile,
    Study,
    entry_name,
    entry_settings,
    profile_settings,
    study_text,
)
from erlbench.settings import check_settings, list_settings, select_settings

RESULTS = Path("results")
PROFILE = "smoke"
DECIDED = ("preset", "name", "workers", "total_generations", "total_minutes")  # options that belong to a study
MEASURED = ("total_minutes", "eval_freq", "eval_episodes", "final_episodes", "evaluate", "info")  # of a profile


def requested_cells(arguments: RunArguments, problem_of: ProblemOf = problem) -> list[Cell]:
    """The cells to run, each directory once; everything about them is checked, nothing is written.

    `problem_of` gives the problem of an environment and its settings. What that adds to the settings, the cells have.
    A `CellError` from it is the cell's own, and meets it when it starts.
    """
    problem_of = remember_problems(problem_of)
    statements = _state_studies(arguments, problem_of) if arguments.study else _state_command(arguments)
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
    return dataclasses.replace(cell, env_settings={**fresh, **cell.env_settings})


def _state_command(arguments: RunArguments) -> Iterator[Statement]:
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


def _state_studies(arguments: RunArguments, problem_of: ProblemOf) -> Iterator[Statement]:
    """What the requested studies state of their cells; a `UsageError` where an option belongs to none of them."""
    for option in DECIDED:
        if getattr(arguments, option) not in (None, ()):
            flag = OPTIONS[option].flag
            raise UsageError(f"{flag} cannot be given with --study, which decides it; run --algo and --env instead")
    known = _known_studies(arguments, warn)
    chosen = [_chosen_part(find_study(known, name), arguments) for name in arguments.study]
    _check_filters(arguments, chosen)
    chosen = [_with_envs(study, arguments.env) for study in chosen]
    _require_extras(chosen, arguments.algo)
    validate(chosen, problem_of)
    for study in chosen:
        (name,) = study.profiles
        # Where times are compared, schedules are: what they do with cores, not what updates do with those left idle.
        sharing = [study, *(other for other in known.values() if name in other.profiles and name != NO_PROFILE)]
        timed = {entry.name for other in sharing if other.times_cells for entry in other.entries}
        for env, entry in _chosen_pairs(study, arguments.algo):
            yield _state_entry(arguments, study, entry, env, problem_of, entry.name in timed)


def validate(studies: Iterable[Study], problem_of: ProblemOf = problem) -> None:
    """Check presets, settings and environments of studies, whose algorithms are imported."""
    open_once = cache(open_studies)
    for study in studies:
        reader = open_once(study.file or BENCHMARKS)
        settings = {name for entry in study.entries for name in list_settings(registry.find(entry.algo).settings_type)}
        for name, profile in study.profiles.items():
            for key in profile.settings:
                with reader.at(*profile_places(study.name, name, "settings", key)):
                    check_known(key, settings, f"no algorithm of study '{study.name}' has a setting '{key}'")
            at_envs = profile_places(study.name, name, "envs")
            for env in profile.envs:
                with reader.at(*at_envs):
                    if canonical(env) != env:
                        raise UsageError(f"'{env}' names the default preset; write '{canonical(env)}'")
            for index, entry in enumerate(study.entries):
                at_entry = ("studies", study.name, "entries", index)
                for env in profile.entry_envs(entry):
                    with reader.at(*([at_entry] if entry.env_settings else at_envs)):
                        task = problem_of(env, profile.entry_env_settings(entry))
                    with reader.at(at_entry):
                        _check_entry(profile, entry, env, task)


def _check_entry(profile: Profile, entry: Entry, env: str, task: Problem) -> None:
    algorithm = registry.find(entry.algo)
    registry.check_observations(entry.algo, task.observation_size, env)
    settings = entry_settings(profile, entry, env)
    if profile.total_minutes and (reason := algorithm.depends_on_budget(settings)):
        raise UsageError(
            f"'total_minutes' cannot be given with {entry.algo}, which needs its number of steps: {reason}"
        )
    if not registry.missing(entry.algo):
        algorithm.check(settings, task)


def requested_studies(arguments: RunArguments) -> list[Study]:
    """The studies that the user asked for; those in the folder of the results win, where the first run put them."""
    known = _known_studies(arguments, lambda message: None)
    return [find_study(known, name) for name in arguments.study]


def texts_to_add(studies: Iterable[Study], arguments: RunArguments) -> dict[Path, dict[str, str]]:
    """The texts of the user's studies by name, by the file in the folder of results that should have them."""
    texts: dict[Path, dict[str, str]] = {}
    for study in studies:
        path = _study_folder(study, arguments) / FILE
        if study.file not in (None, path):
            texts.setdefault(path, {})[study.name] = study_text(study.name, study.as_table)
    return texts


def _known_studies(arguments: RunArguments, warn: Callable[[str], None]) -> dict[str, Study]:
    """All studies that a command can name."""
    if not arguments.study:
        return {}
    known = known_studies(warn=warn)
    names = (*arguments.study, arguments.profile or PROFILE)
    folders = [Path(arguments.out)] if arguments.out else [RESULTS / name for name in names]
    laid = [folder / FILE for folder in folders if (folder / FILE).is_file()]
    with_laid = known_studies(laid, lambda message: None)
    for name in arguments.study:
        if name in known and known[name].sha256 != with_laid[name].sha256:
            files = f"{with_laid[name].file} decides the study '{name}', which {known[name].file} has otherwise"
            warn(f"{files}; give another --out to run the other one")
    return with_laid


def _study_folder(study: Study, arguments: RunArguments) -> Path:
    """The folder of a study's results: --out, or one named after the profile, or after a study that has none."""
    name = arguments.profile or PROFILE if study.has_profiles else study.name
    return Path(arguments.out or RESULTS / name)


def _chosen_part(study: Study, arguments: RunArguments) -> Study:
    """The study with the one profile that is run."""
    name = arguments.profile or (PROFILE if study.has_profiles else NO_PROFILE)
    return dataclasses.replace(study, profiles={name: find_profile(study, name)})


def _with_envs(study: Study, only: tuple[str, ...]) -> Study:
    """The study on those of its environments that were asked for, so that no other environment's extra is needed."""
    ((name, profile),) = study.profiles.items()
    profile = dataclasses.replace(profile, envs=tuple(env for env in profile.envs if _wanted(env, only)))
    return dataclasses.replace(study, profiles={name: profile})


def _state_entry(
    arguments: RunArguments, study: Study, entry: Entry, env: str, problem_of: ProblemOf, one_core: bool
) -> Statement:
    """What a study states of an entry on an environment, and what the command has in its place."""
    (profile,) = study.profiles.values()
    given = select_settings(arguments.set, (entry.algo, entry.name), registry.find(entry.algo).settings_type)
    if arguments.total_timesteps:
        entry = dataclasses.replace(entry, total_timesteps=arguments.total_timesteps)
        profile = dataclasses.replace(profile, entry_timesteps={})
    env_settings = {**profile.entry_env_settings(entry), **plain_values(arguments.env_set)}
    longest = problem_of(env, env_settings).env.max_episode_steps if entry.nominal else 1
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
        out=_study_folder(study, arguments),
        seeds=arguments.seeds or profile.seeds,
        run=run,
        settings={**profile_settings(profile, entry), **given},
        env_settings=env_settings,
        states_all_env_settings=True,
    )


def _require_extras(chosen: Sequence[Study], algo: tuple[str, ...]) -> None:
    """Raise a `UsageError` with one command for all that the cells need and that is not installed."""
    needed: dict[str, str] = {}  # extra -> who needs it first
    for study in chosen:
        for env, entry in _chosen_pairs(study, algo):
            if (extra := extra_of(env)) and not installed(extra):
                needed.setdefault(extra, env)
            if extra := registry.missing_extra(entry.algo):
                needed.setdefault(extra, entry.algo)
    if needed:
        raise UsageError(
            f"packages are missing for {', '.join(needed.values())}; install them by: "
            f"pip install 'erlbench[{','.join(needed)}]'"
        )


def _check_filters(arguments: RunArguments, chosen: Sequence[Study]) -> None:
    """Refuse an --algo, --env or --set that means nothing to any of the studies."""
    entries = {entry.name: entry for study in chosen for entry in study.entries}
    envs = dict.fromkeys(env for study in chosen for profile in study.profiles.values() for env in profile.envs)
    profiles = ", ".join(dict.fromkeys(name for study in chosen for name in study.profiles if name))
    where = f" (profile {profiles})" if profiles else ""
    for option, words, valid in (("--algo", arguments.algo, entries), ("--env", arguments.env, envs)):
        for word in words:
            check_known(word, sorted(valid), f"{option} {word} is in none of the studies{where}")
    wanted = [entry for study in chosen for entry in study.entries if _wanted(entry.name, arguments.algo)]
    types = {name: registry.find(entry.algo).settings_type for entry in wanted for name in (entry.algo, entry.name)}
    check_settings(arguments.set, types)


def _chosen_pairs(study: Study, algo: tuple[str, ...]) -> Iterator[tuple[str, Entry]]:
    """The environments and entries of the cells of a study's only profile, for the entries `algo` or all."""
    (profile,) = study.profiles.values()
    for env in profile.envs:
        for entry in study.entries:
            if env in profile.entry_envs(entry) and _wanted(entry.name, algo):
                yield env, entry


def _wanted(name: str, only: tuple[str, ...]) -> bool:
    return not only or name in only
