"""The comparisons of studies: which runs are cells of a study, and whether a study was run at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from erlbench.errors import UsageError, nearest
from erlbench.reporting.data.cells import same_setting
from erlbench.reporting.data.comparison import OF_STUDIES, Comparison, Group, RunSet
from erlbench.reporting.data.remarks import RemarkKind, Warn, remark
from erlbench.reporting.data.runs import StoredRun, env_labels

if TYPE_CHECKING:
    from erlbench.experiment.study import Entry, Profile, Study


def comparisons_of(study: Study, runs: Sequence[StoredRun], profile: str | None, warn: Warn) -> list[Comparison]:
    """The study's cells with the runs that fit a profile: one comparison for each profile with such a run.

    A run fits when environment, name, seed, budget and the settings that the study gives agree. With `profile` only
    that one is considered.
    """
    found = []
    for key in study.profiles:
        used = [run for run in runs if profile in (None, key) and is_study_run(run, study, key, warn)]
        if used:
            found.append(page_of(study, key, used))
    return found if len(found) < 2 else [replace(one, name=f"{one.name}-{one.profile}") for one in found]


def page_of(study: Study, profile: str, runs: Sequence[StoredRun]) -> Comparison:
    """A study's cells with one of its profiles; `runs` fit them."""
    budget = study.profiles[profile]
    groups = tuple(group for env in budget.envs for group in _groups(study, budget, env, runs))
    return Comparison(
        name=study.name,
        title=study.title,
        groups=groups,
        study=study.name,
        parts=OF_STUDIES[study.kind],
        source=study.published_source,
        table=study.table,
        baseline="" if study.compare else study.baseline,
        profile=profile,
        statistic=study.statistic,
        note=study.note,
        x=study.x,
        item=study.item or study.table,
        tested=not study.compare,
    )


def folder_runs(study: Study, runs: Sequence[StoredRun]) -> list[StoredRun]:
    """The runs that may be a study's: those below the folder of its study.toml, else all."""
    if study.file is None or not is_of_folder(study):
        return [*runs]
    folder = study.file.resolve().parent
    return [run for run in runs if folder in run.path.resolve().parents]


def is_of_folder(study: Study) -> bool:
    """Whether a study stands in the study.toml of a folder of results."""
    from erlbench.experiment.studies import FILE

    return study.file is not None and study.file.name == FILE


def was_run(page: Comparison) -> bool:
    """Whether a study was run, or only shares some cells with what was run.

    It was, if a command that started one of the runs named it, or if one environment has runs of all entries.
    """
    if any(page.study in run.machine.studies for run in page.runs):
        return True
    return any(all(run_set.runs for run_set in group.run_sets if run_set.exists) for group in page.groups)


def cell_of(run: StoredRun, study: Study, profile: Profile) -> tuple[Entry, str] | None:
    """The entry and the environment of a study whose cell a run is, by its names, its seed and its budget."""
    entry = next((entry for entry in study.entries if entry.name == run.name), None)
    if entry is None or run.seed not in profile.seeds:
        return None
    env_settings = profile.entry_env_settings(entry)
    env = next((env for env in profile.entry_envs(entry) if run.env in env_labels(env, env_settings)), None)
    if env is None or run.total_timesteps != profile.most_timesteps(env, entry):
        return None
    if (run.total_minutes or None) != profile.total_minutes:
        return None
    if profile.total_generations and not entry.nominal and run.total_generations != profile.total_generations:
        return None
    return entry, env


def differing_settings(run: StoredRun, profile: Profile, entry: Entry) -> tuple[str, ...]:
    """The settings that the study gives and a run has with other values."""
    wanted = {**profile.settings, **entry.settings}
    found = [key for key, value in wanted.items() if key in run.settings and not same_setting(run.settings[key], value)]
    if entry.workers is not None and run.workers not in ("", str(entry.workers)):
        found.append("workers")
    if profile.simulated_time is not None:
        costs = profile.costs.items()
        found += ["simulated_time"] * (not run.simulated_time)
        found += [f"costs.{key}" for key, value in costs if key in run.costs and run.costs[key] != value]
    return tuple(found)


def is_study_run(run: StoredRun, study: Study, key: str, warn: Warn) -> bool:
    """Whether a run is one of the study's with the profile `key`; one with other settings is named and is none."""
    cell = cell_of(run, study, study.profiles[key])
    if cell is None:
        return False
    if differing := differing_settings(run, study.profiles[key], cell[0]):
        warn(remark(RemarkKind.OTHER_SETTINGS, run.path, study=study.name, profile=key, settings=differing))
    return not differing


def _groups(study: Study, plan: Profile, env: str, runs: Sequence[StoredRun]) -> list[Group]:
    """A group for each label that runs of an environment have; one without runs where there are none."""
    labels = [*dict.fromkeys(
        label for entry in study.entries if env in plan.entry_envs(entry)
        for label in env_labels(env, plan.entry_env_settings(entry))
    )]  # fmt: skip
    used = [label for label in labels if any(run.env == label for run in runs)] or labels[:1]
    return [_group(study, plan, env, label, runs) for label in used]


def _group(study: Study, plan: Profile, env: str, label: str, runs: Sequence[StoredRun]) -> Group:
    run_sets = []
    for entry in (entry for entry in study.entries if env in plan.entry_envs(entry)):
        own = tuple(run for run in runs if run.name == entry.name and run.env == label)
        run_sets.append(RunSet(
            env=label, name=entry.name, label=entry.label or entry.name, published=entry.published,
            planned=len(plan.seeds), runs=own,
            nominal=bool(entry.nominal), own_timesteps=plan.own_timesteps(env, entry),
        ))  # fmt: skip
    run_sets += [RunSet(env=label, name=name, published=name, exists=False) for name in study.not_run]
    return Group(label, study.envs_published.get(env, ""), plan.timesteps(env), tuple(run_sets))


def check_profile(studies: Mapping[str, Study], profile: str | None) -> None:
    """Raise `UsageError` for a profile that no study has."""
    known = {key for study in studies.values() for key in study.profiles}
    if profile is not None and profile not in known:
        hint = nearest(profile, known) or f"; there are {', '.join(sorted(known)) or 'none'}"
        raise UsageError(f"no study has a profile '{profile}'{hint}")
