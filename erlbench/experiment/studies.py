"""Reading and checking studies: the suite's benchmarks.toml, and files of the user.

Only the form of a file is checked, and no algorithm and no environment is imported; `command.py` checks the rest.
Every error names the file, the line and, for a misspelt word, the nearest valid one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import erlbench
from erlbench.algorithms import registry
from erlbench.envs.catalogue import canonical
from erlbench.errors import UsageError, check_known, warn
from erlbench.experiment.cells import check_name, entry_name, usual_frequency
from erlbench.experiment.costs import built_in_costs, read_costs
from erlbench.experiment.study import (
    CURVE,
    MINUTES,
    NO_PROFILE,
    PLACES,
    REACH,
    STEPS,
    Entry,
    Pair,
    Profile,
    Simulated,
    Study,
)
from erlbench.experiment.toml_file import Keys, TomlFile
from erlbench.files import Table, Values
from erlbench.records.older import DEFAULT_PRESET
from erlbench.settings import check_value

HERE = Path("studies.toml")  # the user's, in the working folder
FILE = "study.toml"  # in a folder of results: the studies of its runs
PROFILE_KEYS = tuple(item.name for item in fields(Profile))
BUDGET_KEYS = frozenset(PROFILE_KEYS) - {"envs"}  # a study with one of these at its top has no profiles
STUDY_KEYS = ("like", *(item.name for item in fields(Study) if item.name not in PLACES), *PROFILE_KEYS)
PAGES = ("all-runs", "checklist", "overview", "reference")  # of a report; others are called by their studies
LEFT_OUT = "; the studies of this file are left out"  # of a file that was not named
BENCHMARKS = Path(erlbench.__file__).with_name("benchmarks.toml")  # the suite's


def load_studies(path: Path = BENCHMARKS) -> dict[str, Study]:
    """The studies of a file by name; a `UsageError` for anything out of form."""
    reader = _open_studies(path)
    reader.known(reader.data, ("profiles", "studies"), ())
    shared = reader.tables(reader.data, ("profiles",), PROFILE_KEYS)
    tables = reader.tables(reader.data, ("studies",), STUDY_KEYS)
    for name, raw in tables.items():
        reader.tables(raw, ("studies", name, "profiles"), PROFILE_KEYS)
    return {name: _read_study(reader, name, _merge_like(reader, name, tables), shared) for name in tables}


def known_studies(
    named: Iterable[str | Path] = (),
    warn: Callable[[str], None] = warn,
    *,
    folders: Iterable[Path] = (),
    joined: bool = False,
) -> dict[str, Study]:
    """All studies by name: the suite's, then of `HERE`, of `FILE` in `folders`, of files `named`; later ones win.

    `joined`: studies of several folders that differ in seeds and texts alone are one, of all these seeds.

    No file makes another one unusable: a mistake in `HERE` or in a folder's file, which was not named,
    leaves the file out with a warning. A mistake in one of `named`, and a name that the suite has, is a `UsageError`.
    """
    studies = dict(suite := _suite_studies())
    unnamed = filter(Path.is_file, (HERE, *(folder / FILE for folder in folders)))
    is_named = dict.fromkeys(unnamed, False) | dict.fromkeys(map(Path, named), True)
    for path in is_named:
        try:
            loaded = load_studies(path)
            if taken := [name for name in loaded if name in suite]:
                raise UsageError(f"{path}: the suite has a study '{taken[0]}' already; choose another name")
        except UsageError as error:
            if is_named[path]:
                raise
            warn(f"{error}{LEFT_OUT}")
        else:
            for name, study in loaded.items():
                studies[name] = _join(studies.get(name), study, warn) if joined else study
    return studies


def _join(first: Study | None, second: Study, warn: Callable[[str], None]) -> Study:
    """One study of the seeds of both, where both are in folders of results and are equal but for seeds and texts.

    Else the second one, with a warning where the other one is also in a folder of results.
    """
    if first is None or not (first.file and second.file and first.file.name == second.file.name == FILE):
        return second
    seeds: dict[str, dict[int, None]] = {}
    for study in (first, second):
        for name, profile in study.profiles.items():
            seeds.setdefault(name, {}).update(dict.fromkeys(profile.seeds))
    ours, theirs = (
        replace(study, profiles={name: replace(old, seeds=tuple(seeds[name])) for name, old in study.profiles.items()})
        for study in (first, second)
    )
    if ours.sha256 == theirs.sha256:
        return replace(ours, parts=(*(first.parts or (first,)), second))
    warn(
        f"{first.file}: the study '{first.name}' is another one in {second.file}, which is answered instead; report "
        "the folders apart to answer both"
    )
    return second


_suite_studies = cache(load_studies)


def _open_studies(path: Path) -> TomlFile:
    """A file of studies; messages name the suite's without its folder."""
    return TomlFile(path, path.name if path == BENCHMARKS else "")


@contextmanager
def study_line(study: Study, places: Sequence[Keys]) -> Iterator[None]:
    """Add a study's file, and the line of what is nearest to one of the `places`, to a `UsageError` from inside."""
    try:
        yield
    except UsageError as error:
        _open_studies(study.file or BENCHMARKS).fail(str(error), *places)


def profile_places(study: str, profile: str, *keys: str) -> list[Keys]:
    """The places in the file where a study's profile, or a value in it, may be."""
    if profile == NO_PROFILE:
        return [("studies", study, *keys)]
    return [("studies", study, "profiles", profile, *keys), ("profiles", profile, *keys)]


def _merge_like(reader: TomlFile, name: str, tables: Mapping[str, Table]) -> Table:
    """A study with the missing keys of the study that it is `like`; its `envs` win over the profiles' `envs`."""
    raw = dict(tables[name])
    if "like" not in raw:
        return raw
    other = raw.pop("like")
    with reader.at(("studies", name, "like")):
        bases = [key for key, table in tables.items() if "like" not in table]
        check_known(str(other), bases, f"'{other}' is no study to be like")
    base = tables[other]
    profiles, base_profiles = raw.get("profiles", {}), base.get("profiles", {})
    left_out = ("envs", "env_timesteps", "entry_timesteps") if "envs" in raw else ()
    merged = {**base, **raw, "profiles": {}}
    if BUDGET_KEYS.isdisjoint(raw):
        for key in {**profiles, **base_profiles}:
            kept = {item: value for item, value in base_profiles.get(key, {}).items() if item not in left_out}
            merged["profiles"][key] = {**kept, **profiles.get(key, {})}
        if profiles:
            merged = {key: value for key, value in merged.items() if key not in BUDGET_KEYS}
    if isinstance(raw.get("envs"), list) and "envs_published" not in raw:
        published = base.get("envs_published", {})
        merged["envs_published"] = {env: name for env, name in published.items() if env in raw["envs"]}
    return merged


def _read_study(reader: TomlFile, name: str, raw: Table, shared: Values) -> Study:
    where: Keys = ("studies", name)
    with reader.at(where):
        check_name(name, "a study's name")  # as a profile's name, it is a folder's
        if name in PAGES or name.startswith("reference-"):
            raise UsageError(f"the study '{name}' has the name of another page of the report; give it another name")
    for key, example in (("entries", '[{ algo = "cem" }]'), ("compare", '[{ first = "td3", second = "cem" }]')):
        tables = raw.get(key, [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            reader.fail(f"'{key}' must be a list of tables, such as {example}", (*where, key))
    if not raw.get("entries"):
        reader.fail(f"study '{name}' needs 'entries', a list of tables", (*where, "entries"))
    entries = tuple(_read_entry(reader, table, (*where, "entries", i)) for i, table in enumerate(raw["entries"]))
    study: Study = reader.build(
        Study,
        {key: value for key, value in raw.items() if key not in PROFILE_KEYS},
        where,
        file=None if reader.path == BENCHMARKS else reader.path,
        name=name,
        entries=entries,
        compare=tuple(
            reader.build(
                Pair, {key.replace("_by", "-by"): value for key, value in table.items()}, (*where, "compare", i)
            )
            for i, table in enumerate(raw.get("compare", []))
        ),
        profiles=_read_profiles(reader, raw, name, shared, entries),
    )
    _check_study(reader, study, where)
    return study


def _check_study(reader: TomlFile, study: Study, where: Keys) -> None:
    """Refuse names of entries and environments that the study does not have, and duplicates."""
    names = [entry.name for entry in study.entries]
    with reader.at((*where, "baseline")):
        if study.baseline:
            check_known(study.baseline, names, f"'baseline' is '{study.baseline}', which is no entry")
    envs = dict.fromkeys(env for profile in study.profiles.values() for env in profile.envs)
    for env in study.envs_published:
        with reader.at((*where, "envs_published", env)):
            check_known(env, envs, f"'{env}' is in no profile's envs")
    for index, entry in enumerate(study.entries):
        with reader.at((*where, "entries", index)):
            if entry.name in names[:index]:
                raise UsageError(f"study '{study.name}' has two entries '{entry.name}'")
            for env in entry.envs:
                check_known(env, envs, f"'{env}' is in no profile's envs")
    for index, pair in enumerate(study.compare):
        with reader.at((*where, "compare", index), (*where, "compare")):
            _check_pair(pair, study)
            if pair in study.compare[:index]:
                raise UsageError("'compare' has this pair twice")


def _read_entry(reader: TomlFile, raw: Any, where: Keys) -> Entry:
    reader.known(raw, [item.name for item in fields(Entry)], where)
    algo, _, preset = str(raw.get("algo", "")).partition("@")
    with reader.at((*where, "algo"), where):
        if not algo:
            raise UsageError("an entry needs 'algo', an algorithm")
        if preset and "preset" in raw:
            raise UsageError(f"'algo' names the preset '{preset}' already; omit 'preset'")
        registry.entry(algo)
    preset = preset or raw.get("preset", DEFAULT_PRESET)
    name = raw.get("name", entry_name(algo, str(preset)))
    entry: Entry = reader.build(Entry, {"label": name, **raw, "name": name, "algo": algo, "preset": preset}, where)
    with reader.at((*where, "name"), where):
        check_name(entry.name, "an entry's name")
    return entry


def _read_profiles(
    reader: TomlFile, raw: Values, study: str, shared: Values, entries: tuple[Entry, ...]
) -> dict[str, Profile]:
    """The profiles of a study by name; the budget of its top level is the only one where it has one."""
    profiles = raw.get("profiles", {})
    budget = {key: value for key, value in raw.items() if key in PROFILE_KEYS}
    flat = [key for key in budget if key in BUDGET_KEYS]
    if flat and profiles:
        message = f"'{flat[0]}' is in a study with profiles; put it into each of them, or omit the profiles"
        reader.fail(message, ("studies", study, flat[0]))
    names = () if flat else dict.fromkeys([*(shared if budget else ()), *profiles])
    return {
        name: _read_profile(reader, {**shared.get(name, {}), **budget, **profiles.get(name, {})}, study, name, entries)
        for name in names or (NO_PROFILE,)
    }


def _read_profile(reader: TomlFile, raw: Table, study: str, name: str, entries: tuple[Entry, ...]) -> Profile:
    places = profile_places(study, name)
    where = places[0]
    if name != NO_PROFILE:
        with reader.at(*places):
            check_name(name, "a profile's name")
    given: Table = {}
    if "simulated_time" in raw:
        simulated = reader.build(Simulated, raw["simulated_time"], (*where, "simulated_time"))
        costs = read_costs(reader, raw["costs"], (*where, "costs")) if "costs" in raw else built_in_costs()
        given = {"simulated_time": simulated, "costs": asdict(costs)}
    elif modelled := [key for key in ("costs", "total_minutes") if key in raw]:
        reader.fail(f"'{modelled[0]}' is about modelled times, and needs 'simulated_time'", (*where, modelled[0]))
    others_end = "total_minutes" in raw or all(entry.total_timesteps for entry in entries)
    if not raw.get("total_timesteps") and others_end:  # `Study.as_table` has 0 there
        given["total_timesteps"] = 0
    profile: Profile = reader.build(Profile, raw, *places, **given)
    if name == NO_PROFILE and "eval_freq" not in raw and profile.total_timesteps:
        profile = replace(profile, eval_freq=usual_frequency(profile.total_timesteps))
    budgets: dict[Keys, Mapping[str, int]] = {("env_timesteps",): profile.env_timesteps}
    for entry, budget in profile.entry_timesteps.items():
        with reader.at((*where, "entry_timesteps", entry)):
            check_known(entry, (item.name for item in entries), f"'{entry}' is no entry")
        budgets["entry_timesteps", entry] = budget
    for path, budget in budgets.items():
        for env, steps in budget.items():
            with reader.at((*where, *path, env)):
                check_known(env, profile.envs, f"'{env}' is not in the profile's envs")
                check_value(steps, int, f"'{path[0]}'", {"minimum": 1})
    with reader.at(*profile_places(study, name, "envs")):
        if not profile.envs or len(set(profile.envs)) < len(profile.envs):
            raise UsageError("'envs' must be a list without repetitions, not empty")
        for env in profile.envs:
            if canonical(env) != env:
                raise UsageError(f"'{env}' names the default preset; write '{canonical(env)}'")
    return profile


def _check_pair(pair: Pair, study: Study) -> None:
    """Refuse what cannot be compared; a `UsageError` without its line."""
    entries = {entry.name: entry for entry in study.entries}
    for name in (pair.first, pair.second):
        check_known(name, entries, f"'{name}' is no entry")
    if pair.first == pair.second:
        raise UsageError(f"'{pair.first}' is compared with itself")
    first, second = entries[pair.first], entries[pair.second]
    shared = {
        env
        for profile in study.profiles.values()
        for env in profile.entry_envs(first)
        if env in profile.entry_envs(second)
    }
    for env in pair.envs or [""] * (not shared):
        if env not in shared:
            raise UsageError(f"'{pair.first}' and '{pair.second}' do not both run on {env or 'any environment'}")
    stretch = (pair.begin, pair.end, pair.axis)
    if None in stretch if pair.metric == CURVE else stretch != (None, None, STEPS):
        raise UsageError(f"'from', 'to' and 'axis' belong to metric = \"{CURVE}\", which needs 'from' and 'to'")
    if (pair.metric == REACH) != (pair.score is not None):
        raise UsageError(f"'score' belongs to metric = \"{REACH}\", which needs it")
    if pair.more_by and pair.less_by:
        raise UsageError("a pair has 'more-by' or 'less-by', not both")
    if pair.less_by.endswith("%") and float(pair.less_by.rstrip("% ")) > 100:
        raise UsageError(f"'less-by' is at most \"100 %\", not '{pair.less_by}'")
    if pair.begin is None or pair.end is None:
        return
    if not pair.begin < pair.end:
        raise UsageError(f"'from' must be below 'to', not {pair.begin:,g} and {pair.end:,g}")
    for profile, env, entry in product(study.profiles.values(), pair.envs or shared, (first, second)):
        if env not in profile.entry_envs(entry):
            continue
        # The final evaluation does not count, and the one before may lie an interval before the end.
        steps = profile.most_timesteps(env, entry)
        if pair.axis == STEPS and steps and not profile.total_minutes and pair.end + profile.eval_freq > steps:
            least = f"at least {pair.end + profile.eval_freq:,.0f}, not {steps:,}"
            raise UsageError(
                f"the curve of '{entry.name}' may end before {pair.end:,g}; its total_timesteps must be {least}"
            )
        if pair.axis == MINUTES and profile.total_minutes is not None and pair.end >= profile.total_minutes:
            raise UsageError(f"'to' must be below total_minutes, {profile.total_minutes:g}, not {pair.end:g}")
