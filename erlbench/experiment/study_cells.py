"""From the studies that a command names to what they state of their cells, and what the command has in its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from erlbench.algorithms import registry
from erlbench.errors import UsageError, check_known, warn
from erlbench.experiment.arguments import OPTIONS, RunArguments
from erlbench.experiment.costs import Costs
from erlbench.experiment.estimate import ProblemOf
from erlbench.experiment.requested_cells import RESULTS, Statement, require_extras, stated_options
from erlbench.experiment.studies import FILE, LEFT_OUT, known_studies, profile_places, study_line
from erlbench.experiment.study import NO_PROFILE, Entry, Profile, Study, profile_settings, study_text
from erlbench.experiment.toml_file import Keys
from erlbench.files import Table, Values
from erlbench.settings import list_settings, share_settings

PROFILE = "smoke"
DECIDED = ("preset", "name", "workers", "total_generations", "total_minutes")  # options that belong to a study
MEASURED = ("total_minutes", "eval_freq", "eval_episodes", "final_episodes", "evaluate", "info")  # of a profile


class StudyCell(NamedTuple):
    """An entry of a study on an environment, with the budget that is run: cells that differ in the seed alone."""

    study: Study
    name: str  # of the profile
    profile: Profile
    entry: Entry
    env: str


def make_study_statements(arguments: RunArguments, find_problem: ProblemOf) -> Iterator[Statement]:
    """What the requested studies state of their cells; a `UsageError` where an option belongs to none of them."""
    for option in DECIDED:
        if getattr(arguments, option) not in (None, ()):
            flag = OPTIONS[option].flag
            raise UsageError(f"{flag} cannot be given with --study, which decides it; run --algo and --env instead")
    studies = list_studies(arguments, warn)
    rows = _choose_cells(arguments, [studies[name] for name in arguments.study])
    require_extras((row.env, row.entry.algo) for row in rows)
    owners = [(row.entry.name, row.entry.algo) for row in rows]
    stated = share_settings(arguments.set, {owner: registry.find(owner[1]).settings_type for owner in owners})
    for study, name, profile in {row.study.name: row[:3] for row in rows}.values():
        if others := set(arguments.seeds or ()) - set(profile.seeds):
            more = "; to add them, write them into 'seeds' of a copy, run it with another --out, report both folders"
            warn(f"{len(others)} of --seeds are no seeds of study '{study.name}', which leaves them out{more}")
        settings = {key for entry in study.entries for key in list_settings(registry.find(entry.algo).settings_type)}
        for key in profile.settings:
            with study_line(study, profile_places(study.name, name, "settings", key)):
                check_known(key, settings, f"no algorithm of study '{study.name}' has a setting '{key}'")
    # Where times are compared, schedules are: what they do with cores, not what updates do with those left idle.
    timing = [study for study in studies.values() if study.times_cells]
    timed = {(name, entry.name) for study in timing for name in study.profiles for entry in study.entries}
    for row in rows:
        one_core = row.study.times_cells or (row.name != NO_PROFILE and (row.name, row.entry.name) in timed)
        yield _make_entry_statement(arguments, row, stated[row.entry.name, row.entry.algo], find_problem, one_core)


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


def _make_entry_statement(
    arguments: RunArguments, row: StudyCell, stated: Values, find_problem: ProblemOf, one_core: bool
) -> Statement:
    """What a study states of an entry on an environment, and what the command has in its place."""
    study, name, profile, entry, env = row
    env_settings = {**profile.entry_env_settings(entry), **arguments.env_set}
    place: Callable[[list[Keys]], AbstractContextManager[Any]] = partial(study_line, study)
    if arguments.set or arguments.env_set:  # a mistake may be the command's
        place = nullcontext
    at_entry: list[Keys] = [("studies", study.name, "entries", study.entries.index(entry))]
    with place(at_entry if entry.env_settings else profile_places(study.name, name, "envs")):
        longest = find_problem(env, env_settings).env.max_episode_steps
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


def study_options(arguments: RunArguments) -> Table:
    """What `RunOptions` have of the studies: their SHA-256, and the texts that folders of results are to hold."""
    studies = list_studies(arguments, lambda message: None)
    texts: dict[Path, dict[str, str]] = {}
    for study in (studies[name] for name in arguments.study):
        path = study_folder(study, arguments) / FILE
        if study.file not in (None, path):
            texts.setdefault(path, {})[study.name] = study_text(study.name, study.as_table)
    return {"studies": {name: studies[name].sha256 for name in arguments.study}, "study_texts": texts}


def list_studies(arguments: RunArguments, warn: Callable[[str], None]) -> dict[str, Study]:
    """All studies that a command can name; those in the folder of its results win, where the first run put them.

    Raises `UsageError` for a mistake in the user's file, which may have the study, unless it is one of the suite's; and
    for a name that is none, with the nearest.
    """
    mistakes: list[str] = []
    studies = known_studies(warn=mistakes.append)
    names = (*arguments.study, arguments.profile or PROFILE)
    folders = [arguments.out] if arguments.out else [RESULTS / name for name in names]
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
    return arguments.out or RESULTS / name
