"""The runs of a study: those of each cell, and all in which they are not what the study says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from erlbench.records.run import ASIDE
from erlbench.reporting.data.comparison import RunSet
from erlbench.reporting.data.departures import setting_departures
from erlbench.reporting.data.remarks import Warn
from erlbench.reporting.data.runs import StoredRun, env_labels
from erlbench.reporting.data.study_comparisons import cell_of, differing_settings, is_study_run

if TYPE_CHECKING:
    from erlbench.experiment.study import Entry, Profile, Study

MOST = 20  # seeds that are listed
RunSets = Mapping[tuple[str, str], RunSet]  # by entry and environment


class StudyDifference(NamedTuple):
    """One thing in which the runs of a cell are not what the study says."""

    entry: str
    env: str
    what: str
    details: str


def find_run_sets(study: Study, profile: str, runs: Sequence[StoredRun], warn: Warn) -> dict[tuple[str, str], RunSet]:
    """The runs of each entry in each of its environments; without runs where there are none."""
    budget = study.profiles[profile]
    used = [run for run in runs if is_study_run(run, study, profile, warn)]
    found = {}
    for entry in study.entries:
        for env in budget.entry_envs(entry):
            labels = env_labels(env, budget.entry_env_settings(entry))
            own = tuple(run for run in used if run.name == entry.name and run.env in labels)
            label = own[0].env if own else labels[0]
            found[entry.name, env] = RunSet(
                env=label,
                name=entry.name,
                label=entry.label or entry.name,
                planned=len(budget.seeds),
                runs=own,
                nominal=bool(entry.nominal),
                own_timesteps=budget.own_timesteps(env, entry),
            )
    return found


def study_differences(
    study: Study, profile: str, run_sets: RunSets, runs: Iterable[StoredRun]
) -> list[StudyDifference]:
    """What differs from a study, by entry and environment; `runs` are all of its folder."""
    budget, entries = study.profiles[profile], {entry.name: entry for entry in study.entries}
    found = []
    for (name, env), run_set in run_sets.items():
        entry = entries[name]
        lines = [
            *(("settings", text) for text in setting_departures(run_set.runs, budget, entry, env)),
            *_missing_seeds(budget, run_set),
            *_left_out(study, budget, entry, env, runs),
            *_unfinished(run_set),
            *_moved_aside(run_set),
            *_other_versions(study, run_set),
        ]
        found += [StudyDifference(run_set.label, run_set.env, what, details) for what, details in lines]
    return found


def _missing_seeds(budget: Profile, run_set: RunSet) -> Iterator[tuple[str, str]]:
    there = {run.seed for run in run_set.runs}
    if missing := [seed for seed in budget.seeds if seed not in there]:
        yield "seeds missing", _listed(missing)


def _left_out(
    study: Study, budget: Profile, entry: Entry, env: str, runs: Iterable[StoredRun]
) -> Iterator[tuple[str, str]]:
    """Runs in the entry's folder and environment that are not the study's."""
    labels = env_labels(env, budget.entry_env_settings(entry))
    reasons: dict[str, list[int]] = {}
    for run in runs:
        if run.path.resolve().parent.name != entry.name or run.env not in labels:
            continue
        if run.seed not in budget.seeds:
            reason = "another seed"
        elif run.name != entry.name:
            reason = run.name
        elif cell_of(run, study, budget) is None:
            reason = "another budget"
        else:
            reason = ", ".join(differing_settings(run, budget, entry))
        if reason:
            reasons.setdefault(reason, []).append(run.seed)
    for reason, seeds in reasons.items():
        yield "left out", f"{reason}: seed {_listed(seeds)}"


def _unfinished(run_set: RunSet) -> Iterator[tuple[str, str]]:
    states: dict[str, list[int]] = {}
    for run in run_set.runs:
        if not run.done:
            states.setdefault(run.status, []).append(run.seed)
    yield from ((status, f"seed {_listed(seeds)}") for status, seeds in states.items())


def _moved_aside(run_set: RunSet) -> Iterator[tuple[str, str]]:
    """Runs that `--force` moved aside: listed by the run that took their place, or left where nothing did."""
    again = {run.path.name: len(run.machine.repeats) for run in run_set.runs if run.machine.repeats}
    for folder in sorted({run.path.parent for run in run_set.runs}):
        for aside in folder.glob(f"seed-*{ASIDE}*"):
            again.setdefault(aside.name.partition(ASIDE)[0], 1)
    if again:
        yield "moved aside", ", ".join(f"{name} ({count})" for name, count in sorted(again.items()))


def _other_versions(study: Study, run_set: RunSet) -> Iterator[tuple[str, str]]:
    others: dict[str, list[int]] = {}
    for run in run_set.runs:
        for name, digest in run.machine.study_hashes:
            if name == study.name and digest != study.sha256:
                others.setdefault(digest, []).append(run.seed)
    for digest, seeds in others.items():
        yield "another version of the study", f"SHA-256 {digest[:12]}: seed {_listed(seeds)}"


def _listed(seeds: Iterable[int]) -> str:
    known = list(dict.fromkeys(seeds))
    more = f" and {len(known) - MOST} more" if len(known) > MOST else ""
    return ", ".join(map(str, known[:MOST])) + more
