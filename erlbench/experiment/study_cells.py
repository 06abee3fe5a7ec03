"""The cells of studies: those of a profile, without what the user leaves out."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from erlbench.algorithms import registry
from erlbench.envs.catalogue import extra_of, installed
from erlbench.envs.options import plain_values
from erlbench.errors import UsageError, nearest
from erlbench.experiment import studies
from erlbench.experiment.algorithm_settings import check_settings, select_settings
from erlbench.experiment.cells import Cell, Origin
from erlbench.experiment.command import RESULTS, ProblemOf, simulated_of, typed_of, workers_of
from erlbench.experiment.options import RunArguments
from erlbench.experiment.own_studies import known_studies
from erlbench.options import list_options

PROFILE = "smoke"


def study_cells(arguments: RunArguments, problem_of: ProblemOf) -> Iterator[Cell]:
    """The cells of the studies that the user asked for; a `UsageError` where an option belongs to none of them."""
    for option in ("preset", "name", "workers", "total_generations", "total_minutes"):
        if getattr(arguments, option) not in (None, ()):
            given = list_options(RunArguments)[option].flag
            raise UsageError(f"{given} cannot be given with --study, which decides it; run --algo and --env instead")
    known = known_studies()
    chosen = {name: studies.find_study(known, name) for name in arguments.study}
    profile_name = arguments.profile or PROFILE
    chosen = {name: _only(study, profile_name) for name, study in chosen.items()}
    _check_filters(arguments, chosen, profile_name)
    chosen = {name: _with_envs(study, profile_name, arguments.env) for name, study in chosen.items()}
    wanted = [
        (study.profiles[profile_name], [entry for entry in study.entries if _wanted(entry.name, arguments.algo)])
        for study in chosen.values()
    ]
    _require_extras(wanted)
    studies.validate(chosen, problem_of)
    # Where times are compared, schedules are: what they do with cores, not what updates do with those left idle.
    timed = {entry.name for study in known.values() if study.kind == studies.TIME for entry in study.entries}
    for profile, entries in wanted:
        for env in profile.envs:
            for entry in entries:
                for cell in _entry_cells(arguments, entry, profile, env, profile_name, problem_of):
                    yield dataclasses.replace(cell, one_core=entry.name in timed)


def _entry_cells(
    arguments: RunArguments,
    entry: studies.Entry,
    profile: studies.Profile,
    env: str,
    profile_name: str,
    problem_of: ProblemOf,
) -> Iterator[Cell]:
    given = select_settings(arguments.set, (entry.algo, entry.name), registry.find(entry.algo).settings_type)
    settings = studies.entry_settings(profile, entry, env, given)
    env_settings = {**profile.env_settings, **plain_values(arguments.env_set)}
    if arguments.total_timesteps:
        profile = dataclasses.replace(
            profile, total_timesteps=arguments.total_timesteps, env_timesteps={}, entry_timesteps={}
        )
    stated = (f"settings.{name}" for name in [*studies.profile_settings(profile, entry), *given])
    typed = typed_of(arguments) | {"run.*", "env_settings.*", *stated}
    longest = problem_of(env, env_settings).env.max_episode_steps if entry.nominal else 1
    for seed in arguments.seeds or profile.seeds:
        yield Cell(
            algo=entry.algo,
            preset=entry.preset,
            name=entry.name,
            env=env,
            seed=seed,
            settings=settings,
            total_timesteps=profile.most_timesteps(env, entry),
            total_generations=profile.generations(entry, profile.timesteps(env, entry), longest),
            workers=workers_of(entry.algo, entry.workers),
            eval_freq=arguments.eval_freq or profile.eval_freq,
            eval_episodes=arguments.eval_episodes or profile.eval_episodes,
            final_episodes=arguments.final_episodes or profile.final_episodes,
            evaluate=arguments.evaluate or profile.evaluate,
            info=arguments.info,
            out=Path(arguments.out) if arguments.out else RESULTS / profile_name,
            processes=entry.processes,
            env_settings=env_settings,
            origin=Origin(typed),
            **simulated_of(arguments),
        )


def _only(study: studies.Study, profile: str) -> studies.Study:
    return dataclasses.replace(study, profiles={profile: studies.find_profile(study, profile)})


def _with_envs(study: studies.Study, profile: str, only: tuple[str, ...]) -> studies.Study:
    """The study on those of its environments that were asked for, so that no other environment's extra is needed."""
    old = study.profiles[profile]
    envs = tuple(env for env in old.envs if _wanted(env, only))
    return dataclasses.replace(study, profiles={profile: dataclasses.replace(old, envs=envs)})


def _require_extras(wanted: Iterable[tuple[studies.Profile, list[studies.Entry]]]) -> None:
    """Raise a `UsageError` with one command for all that the cells need and that is not installed."""
    needed: dict[str, str] = {}  # extra -> who needs it first
    for profile, entries in wanted:
        for env, entry in itertools.product(profile.envs, entries):
            if (extra := extra_of(env)) and not installed(extra):
                needed.setdefault(extra, env)
            if extra := registry.missing_extra(entry.algo):
                needed.setdefault(extra, entry.algo)
    if needed:
        raise UsageError(
            f"packages are missing for {', '.join(needed.values())}; install them by: "
            f"pip install 'erlbench[{','.join(needed)}]'"
        )


def _check_filters(arguments: RunArguments, chosen: Mapping[str, studies.Study], profile: str) -> None:
    """Refuse an --algo, --env or --set that means nothing to any of the studies."""
    entries = {entry.name for study in chosen.values() for entry in study.entries}
    envs = {env for study in chosen.values() for env in study.profiles[profile].envs}
    for option, given, known in (("--algo", arguments.algo, entries), ("--env", arguments.env, envs)):
        for word in given:
            if word not in known:
                hint = nearest(word, known) or f"; there are {', '.join(sorted(known))}"
                raise UsageError(f"{option} {word} is in none of the studies (profile {profile}){hint}")
    wanted = [entry for study in chosen.values() for entry in study.entries if _wanted(entry.name, arguments.algo)]
    types = {name: registry.find(entry.algo).settings_type for entry in wanted for name in (entry.algo, entry.name)}
    check_settings(arguments.set, types)


def _wanted(name: str, only: tuple[str, ...]) -> bool:
    return not only or name in only
