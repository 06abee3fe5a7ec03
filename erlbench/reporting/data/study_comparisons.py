"""The comparisons of studies: which runs are cells of a study, and whether a study was run at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from erlbench.errors import UsageError, nearest
from erlbench.reporting.data.cells import same_setting
from erlbench.reporting.data.comparison import OF_STUDIES, Comparison, Group, RunSet
from erlbench.reporting.data.remarks import RemarkKind, Warn, remark
from erlbench.reporting.data.runs import Run, env_labels

if TYPE_CHECKING:
    from erlbench.experiment.study import Profile, Study


def comparisons_of(study: Study, runs: Sequence[Run], profile: str | None, warn: Warn) -> list[Comparison]:
    """The study's cells with the runs that fit a profile: one comparison for each profile with such a run.

    A run fits when environment, name, seed, budget and the settings that the study gives agree. With `profile` only
    that one is considered.
    """
    found = []
    for key, plan in study.profiles.items():
        used = [run for run in runs if profile in (None, key) and _fits(run, study, key, warn)]
        if used:
            groups = tuple(group for env in plan.envs for group in _groups(study, plan, env, used))
            found.append(Comparison(
                name=study.name, title=study.title, groups=groups, study=study.name, parts=OF_STUDIES[study.kind],
                source=study.published_source, table=study.table, baseline=study.baseline, profile=key,
                statistic=study.statistic, note=study.note, x=study.x, item=study.item or study.table,
            ))  # fmt: skip
    return found if len(found) < 2 else [replace(one, name=f"{one.name}-{one.profile}") for one in found]


def was_run(page: Comparison) -> bool:
    """Whether a study was run, or only shares some cells with what was run.

    It was, if a command that started one of the runs named it, or if one environment has runs of all entries.
    """
    if any(page.study in run.machine.studies for run in page.runs):
        return True
    return any(all(run_set.runs for run_set in group.run_sets if run_set.exists) for group in page.groups)


def _fits(run: Run, study: Study, profile: str, warn: Warn) -> bool:
    plan = study.profiles[profile]
    entry = next((entry for entry in study.entries if entry.name == run.name), None)
    if entry is None or run.seed not in plan.seeds:
        return False
    env_settings = plan.entry_env_settings(entry)
    env = next((env for env in plan.entry_envs(entry) if run.env in env_labels(env, env_settings)), None)
    if env is None:
        return False
    if run.total_timesteps != plan.most_timesteps(env, entry):
        return False
    if (run.total_minutes or None) != plan.total_minutes:
        return False
    if plan.total_generations and not entry.nominal and run.total_generations != plan.total_generations:
        return False
    wanted = {**plan.settings, **entry.settings}
    differing = [
        key for key, value in wanted.items() if key in run.settings and not same_setting(run.settings[key], value)
    ]
    if entry.workers is not None and run.workers not in ("", str(entry.workers)):
        differing.append("workers")
    if differing:
        settings = tuple(differing)
        warn(remark(RemarkKind.OTHER_SETTINGS, run.path, study=study.name, profile=profile, settings=settings))
    return not differing


def _groups(study: Study, plan: Profile, env: str, runs: Sequence[Run]) -> list[Group]:
    """A group for each label that runs of an environment have; one without runs where there are none."""
    labels = env_labels(env, plan.env_settings)
    used = [label for label in labels if any(run.env == label for run in runs)] or labels[:1]
    return [_group(study, plan, env, label, runs) for label in used]


def _group(study: Study, plan: Profile, env: str, label: str, runs: Sequence[Run]) -> Group:
    run_sets = []
    for entry in study.entries:
        own = tuple(run for run in runs if run.name == entry.name and run.env == label)
        run_sets.append(RunSet(
            env=label, name=entry.name, label=entry.label or entry.name, published=entry.published,
            planned=len(plan.seeds), runs=own,
            nominal=bool(entry.nominal), own_timesteps=plan.entry_timesteps.get(entry.name, {}).get(env, 0),
        ))  # fmt: skip
    run_sets += [RunSet(env=label, name=name, published=name, exists=False) for name in study.not_run]
    return Group(label, study.envs_published.get(env, ""), plan.timesteps(env), tuple(run_sets))


def check_profile(studies: Mapping[str, Study], profile: str | None) -> None:
    """Raise `UsageError` for a profile that no study has."""
    known = {key for study in studies.values() for key in study.profiles}
    if profile is not None and profile not in known:
        hint = nearest(profile, known) or f"; there are {', '.join(sorted(known)) or 'none'}"
        raise UsageError(f"no study has a profile '{profile}'{hint}")
