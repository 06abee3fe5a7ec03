"""The studies of benchmarks.toml: which cells, which budget per profile, which table or figure.

`load_studies` checks the file's form and imports no algorithm and no environment; `validate` also checks presets,
settings and environments. Every error names the file, the line and, for a misspelt word, the nearest valid one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, MISSING, dataclass, field, fields
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import erlbench
from erlbench.algorithms import registry
from erlbench.errors import UsageError, nearest
from erlbench.experiment.cells import EVALUATE, FINAL_EPISODES, cell_name, check_name
from erlbench.experiment.toml_file import Keys, TomlFile
from erlbench.settings import as_toml, resolve, resolved_values, setting

if TYPE_CHECKING:
    from erlbench.envs.registry import Problem

TIME = "time"  # of studies that compare times: their cells use no second core
KINDS = ("scores", TIME, "curves", "timeline")
AXES = (
    "timesteps",
    "nominal",
    "simulator-steps",
    "all-steps",
    "time",
    "updates",
    "generation",
    "episodes",
)  # of curves
# What must be equal where entries of several studies share their cells: of the entries, and of the profiles.
CONFIGURATION = ("algo", "preset", "workers", "processes", "settings", "nominal")
BUDGET = (
    "total_generations", "eval_freq", "eval_episodes", "final_episodes", "evaluate", "settings", "env_settings",
)  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """One row or column of a study: an algorithm in one configuration."""

    name: str
    algo: str
    preset: str = registry.DEFAULT_PRESET
    workers: int | None = setting(None, "individuals in flight", minimum=1)
    processes: int | None = setting(None, "worker processes, where the study is about them", minimum=0)
    settings: Mapping[str, Any] = field(default_factory=dict)
    published: str = ""  # the published table's name for it
    label: str = ""  # the report's name for it
    nominal: int | None = setting(None, "most episodes of a generation, where the budget counts one", minimum=1)


@dataclass(frozen=True)
class Profile:
    """One budget of a study."""

    seeds: tuple[int, ...] = setting(MISSING, "run seeds", minimum=0)
    total_timesteps: int = setting(MISSING, "training steps per cell", minimum=1)
    envs: tuple[str, ...] = setting(MISSING, "environments, as ID or ID@PRESET")
    _: KW_ONLY
    total_generations: int | None = setting(None, "generations after which a run ends, even with steps left", minimum=1)
    env_timesteps: Mapping[str, int] = field(default_factory=dict)  # where an environment has another budget
    entry_timesteps: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # an entry's own, by environment
    eval_freq: int = setting(5000, "training steps between two evaluations", minimum=1)
    eval_episodes: int = setting(10, "episodes per evaluation", minimum=1)
    final_episodes: int = setting(FINAL_EPISODES, "episodes of the final evaluation", minimum=1)
    settings: Mapping[str, Any] = field(default_factory=dict)  # for every algorithm that has them
    env_settings: Mapping[str, Any] = field(default_factory=dict)  # for all of its environments
    evaluate: str = setting("after", "when the reported policy is evaluated", choices=EVALUATE)

    def timesteps(self, env: str, entry: Entry | None = None) -> int:
        """The budget on an environment, in training steps: the entry's own, or that of all."""
        own = self.entry_timesteps.get(entry.name, {}) if entry else {}
        return own.get(env, self.env_timesteps.get(env, self.total_timesteps))

    def most_timesteps(self, env: str, entry: Entry) -> int:
        """The training steps that end an entry's run on an environment.

        A nominal entry's run ends by its generations, and these are the most steps that they can have.
        """
        return self.timesteps(env, entry) * (entry.nominal or 1)

    def generations(self, entry: Entry, timesteps: int, longest: int) -> int | None:
        """The generations that end an entry's run with a budget of `timesteps`; None for no such limit.

        Those of a nominal entry count one episode of `longest` steps each, whatever they play.
        """
        return -(-timesteps // longest) if entry.nominal else self.total_generations


@dataclass(frozen=True, kw_only=True)
class Study:
    """One table or figure of a paper."""

    name: str
    title: str
    kind: str = setting(MISSING, "what the report draws", choices=KINDS)
    source: str = ""  # column `source` of the published numbers
    table: str = ""  # column `table` of the published numbers
    item: str = ""  # the table or figure that it repeats, where it is another one
    statistic: str = "mean"  # column `statistic` of those that stand beside our means
    entries: tuple[Entry, ...] = ()
    baseline: str = ""  # the entry against which the others are compared
    not_run: tuple[str, ...] = ()  # published algorithms that the suite does not run
    note: str = ""  # how its cells differ from what was published, for captions
    x: str = setting("timesteps", "what its curves are drawn over, as printed", choices=AXES)
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    envs_published: Mapping[str, str] = field(default_factory=dict)  # environment id -> the published table's
    file: Path | None = None  # that it stands in; None for benchmarks.toml


def benchmarks_file() -> Path:
    """The benchmarks.toml that is installed with the package."""
    return Path(erlbench.__file__).with_name("benchmarks.toml")


def load_studies(path: Path | None = None) -> dict[str, Study]:
    """The studies of `path` (default: the packaged file) by name; a `UsageError` for anything out of form."""
    reader = _open(path)
    reader.known(reader.data, ("profiles", "studies"), ())
    shared = reader.table(reader.data.get("profiles", {}), ("profiles",))
    for name, raw in shared.items():
        reader.known(raw, [item.name for item in fields(Profile)], ("profiles", name))
    raw_studies = {
        name: reader.table(raw, ("studies", name))
        for name, raw in reader.table(reader.data.get("studies", {}), ("studies",)).items()
    }
    raw_studies = {name: _like(reader, name, raw_studies) for name in raw_studies}
    studies = {name: _study(reader, name, raw, shared) for name, raw in raw_studies.items()}
    _check_shared_cells(reader, studies)
    return studies


def find_study(studies: Mapping[str, Study], name: str) -> Study:
    """The study `name`; a `UsageError` names the nearest."""
    if name not in studies:
        hint = nearest(name, studies) or f"; there are {', '.join(studies)}"
        raise UsageError(f"unknown study '{name}'{hint}")
    return studies[name]


def find_profile(study: Study, name: str) -> Profile:
    """The profile `name` of a study; a `UsageError` names the nearest."""
    if name not in study.profiles:
        hint = nearest(name, study.profiles) or f"; it has {', '.join(study.profiles)}"
        raise UsageError(f"unknown profile '{name}' of study '{study.name}'{hint}")
    return study.profiles[name]


def profile_settings(profile: Profile, entry: Entry) -> dict[str, Any]:
    """The profile's settings that the entry's algorithm has, and the entry's own, which win."""
    known = {item.name for item in fields(registry.find(entry.algo).settings_type)}
    return {**{name: value for name, value in profile.settings.items() if name in known}, **entry.settings}


def entry_settings(profile: Profile, entry: Entry, env: str, own: Mapping[str, Any] | None = None) -> Any:
    """The settings of the entry's cells in `env`, an instance of its algorithm's `settings_type`; `own` win."""
    values = {**profile_settings(profile, entry), **(own or {})}
    preset = registry.preset(entry.algo, entry.preset)
    return resolve(registry.find(entry.algo).settings_type, env, preset, values, owner=entry.algo)


def entry_values(profile: Profile, entry: Entry, env: str) -> dict[str, Any]:
    """The settings of the entry's cells in `env` as config.toml holds them; the class that has them is not run."""
    preset, values = registry.preset(entry.algo, entry.preset), profile_settings(profile, entry)
    return as_toml(resolved_values(registry.find(entry.algo).settings_type, env, preset, values, owner=entry.algo))


def validate(
    studies: Mapping[str, Study], problem_of: Callable[[str, Mapping[str, Any]], Problem] | None = None
) -> None:
    """Check presets, settings and environments of `studies`; imports algorithms."""
    from erlbench.envs.catalogue import canonical
    from erlbench.envs.registry import problem

    problem_of = problem_of or problem
    cache: dict[str, Problem] = {}
    readers = {path: _open(path) for path in {study.file for study in studies.values()}}
    for study in studies.values():
        reader = readers[study.file]
        types = {entry.algo: registry.find(entry.algo).settings_type for entry in study.entries}
        known = {item.name for settings_type in types.values() for item in fields(settings_type)}
        for name, profile in study.profiles.items():
            own, shared = ("studies", study.name, "profiles", name), ("profiles", name)
            for key in profile.settings:
                if key not in known:
                    message = f"no algorithm of study '{study.name}' has a setting '{key}'{nearest(key, known)}"
                    reader.fail(message, (*own, "settings", key), (*shared, "settings", key))
            problems: dict[str, Problem] = {}
            for env in profile.envs:
                with reader.at((*own, "envs"), (*shared, "envs")):
                    if canonical(env) != env:
                        raise UsageError(f"'{env}' names the default preset; write '{canonical(env)}'")
                    key = f"{env} {sorted(profile.env_settings.items())}"
                    problems[env] = cache[key] if key in cache else problem_of(env, profile.env_settings)
                    cache[key] = problems[env]
            for index, entry in enumerate(study.entries):
                with reader.at(("studies", study.name, "entries", index)):
                    for env, found in problems.items():
                        registry.check_observations(entry.algo, found.observation_size, env)
                        settings = entry_settings(profile, entry, env)
                        if not registry.missing(entry.algo):
                            registry.find(entry.algo).check(settings, found)


# -- reading ----------------------------------------------------------------------------------------------------------


def _open(path: Path | None) -> TomlFile:
    packaged = benchmarks_file()
    return TomlFile(path or packaged, packaged.name if path in (None, packaged) else "")


def _like(reader: TomlFile, name: str, raw_studies: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """A study with what it leaves out from the one that it is `like`: its own `envs` win over those of the profiles."""
    raw = dict(reader.table(raw_studies[name], ("studies", name)))
    if "like" not in raw:
        return raw
    other = raw.pop("like")
    if not isinstance(other, str) or other not in raw_studies or "like" in raw_studies[other]:
        known = [key for key, found in raw_studies.items() if "like" not in found]
        reader.fail(f"'{other}' is no study to be like{nearest(str(other), known)}", ("studies", name, "like"))
    theirs = reader.table(raw_studies[other], ("studies", other))
    for owner, found in ((name, raw), (other, theirs)):
        for key, profile in reader.table(found.get("profiles", {}), ("studies", owner, "profiles")).items():
            reader.table(profile, ("studies", owner, "profiles", key))
    own = raw.get("profiles", {})
    leave_out = ("envs", "env_timesteps", "entry_timesteps") if "envs" in raw else ()
    profiles = {
        key: {**{item: value for item, value in profile.items() if item not in leave_out}, **own.get(key, {})}
        for key, profile in theirs.get("profiles", {}).items()
    }
    merged = {**theirs, **raw, "profiles": {**own, **profiles}}
    if "envs" in raw and "envs_published" not in raw:
        published = theirs.get("envs_published", {})
        merged["envs_published"] = {env: published[env] for env in raw["envs"] if env in published}
    return merged


def _study(reader: TomlFile, name: str, raw: Any, shared: Mapping[str, Any]) -> Study:
    where: Keys = ("studies", name)
    raw = reader.table(raw, where)
    listed = raw.get("entries", [])
    if not isinstance(listed, list) or not listed:
        reader.fail(f"study '{name}' needs 'entries', a list of tables", (*where, "entries"))
    entries = tuple(_entry(reader, item, (*where, "entries", index)) for index, item in enumerate(listed))
    names = [entry.name for entry in entries]
    for index, entry in enumerate(entries):
        if entry.name in names[:index]:
            reader.fail(f"study '{name}' has two entries '{entry.name}'", (*where, "entries", index))
    own = reader.table(raw.get("profiles", {}), (*where, "profiles"))
    for profile in own:
        reader.known(own[profile], [item.name for item in fields(Profile)], (*where, "profiles", profile))
    common = {"envs": raw["envs"]} if "envs" in raw else {}
    profiles = {
        profile: _profile(
            reader,
            {**shared.get(profile, {}), **common, **own.get(profile, {})},
            (*where, "profiles", profile),
            profile,
        )
        for profile in dict.fromkeys([*(shared if common else ()), *own])
    }
    study: Study = reader.build(
        Study,
        {key: value for key, value in raw.items() if key not in ("entries", "profiles", "envs")},
        where,
        file=reader.path,
        name=name,
        entries=entries,
        profiles=profiles,
    )
    if study.baseline and study.baseline not in names:
        message = f"'baseline' is '{study.baseline}', which is no entry{nearest(study.baseline, names)}"
        reader.fail(message, (*where, "baseline"))
    for key, plan in profiles.items():
        for owner in plan.entry_timesteps:
            if owner not in names:
                keys: Keys = (*where, "profiles", key, "entry_timesteps", owner)
                reader.fail(f"'{owner}' is no entry{nearest(owner, names)}", keys)
    for env in study.envs_published:
        if not any(env in profile.envs for profile in profiles.values()):
            envs = {env for profile in profiles.values() for env in profile.envs}
            reader.fail(f"'{env}' is in no profile's envs{nearest(env, envs)}", (*where, "envs_published", env))
    return study


def _entry(reader: TomlFile, raw: Any, where: Keys) -> Entry:
    raw = reader.table(raw, where)
    reader.known(raw, [item.name for item in fields(Entry)], where)
    with reader.at((*where, "algo"), where):
        registry.entry(str(raw.get("algo", "")))
    default = cell_name(
        registry.short_name(raw["algo"]), str(raw.get("preset", registry.DEFAULT_PRESET)), registry.DEFAULT_PRESET
    )
    entry: Entry = reader.build(Entry, {"name": default, "label": raw.get("name", default), **raw}, where)
    with reader.at((*where, "name"), where):
        check_name(entry.name, "an entry's name")
    return entry


def _profile(reader: TomlFile, raw: dict[str, Any], where: Keys, name: str) -> Profile:
    seeds = raw.get("seeds")
    if isinstance(seeds, int) and not isinstance(seeds, bool):  # a number of seeds
        if seeds < 1:
            reader.fail(
                f"'seeds' must be at least 1 or a list, not {seeds}", (*where, "seeds"), ("profiles", name, "seeds")
            )
        raw = {**raw, "seeds": list(range(seeds))}
    profile: Profile = reader.build(Profile, raw, where, ("profiles", name))
    budgets: dict[tuple[str, ...], Mapping[str, int]] = {("env_timesteps",): profile.env_timesteps}
    budgets |= {("entry_timesteps", entry): own for entry, own in profile.entry_timesteps.items()}
    for path, own in budgets.items():
        for env, steps in reader.table(own, (*where, *path)).items():
            if env not in profile.envs:
                reader.fail(f"'{env}' is not in the profile's envs{nearest(env, profile.envs)}", (*where, *path, env))
            if not isinstance(steps, int) or isinstance(steps, bool) or steps < 1:
                reader.fail(f"'{path[0]}' must be integers of at least 1, not {steps!r}", (*where, *path, env))
    for key in ("seeds", "envs"):
        values = getattr(profile, key)
        if not values or len(set(values)) < len(values):
            reader.fail(
                f"'{key}' must be a list without repetitions, not empty", (*where, key), ("profiles", name, key)
            )
    return profile


def _check_shared_cells(reader: TomlFile, studies: Mapping[str, Study]) -> None:
    """Entries with one name on one environment are the same cells, run once: they must be the same in all studies."""
    first: dict[tuple[str, str, str], tuple[str, Entry, Profile]] = {}
    for study in studies.values():
        for name, profile in study.profiles.items():
            for (index, entry), env in product(enumerate(study.entries), profile.envs):
                other, known, plan = first.setdefault((name, entry.name, env), (study.name, entry, profile))
                differ = _differing(known, entry, CONFIGURATION)
                differ += [f"{key} of profile {name}" for key in _differing(plan, profile, BUDGET)]
                if plan.timesteps(env, entry) != profile.timesteps(env, entry):
                    differ.append(f"the budget of profile {name}")
                if differ:
                    message = (
                        f"entry '{entry.name}' of study '{study.name}' is not as in study '{other}' on {env}: it "
                        f"differs in {', '.join(differ)}; make them equal or give one another name"
                    )
                    reader.fail(message, ("studies", study.name, "entries", index))


def _differing(one: Any, other: Any, names: Iterable[str]) -> list[str]:
    return [name for name in names if getattr(one, name) != getattr(other, name)]
