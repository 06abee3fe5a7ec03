"""Settings of runs that are not those of their study's cells: a command or another version gave them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from erlbench.errors import UsageError
from erlbench.records.older import ALGORITHMS
from erlbench.reporting.data.cells import same_setting
from erlbench.reporting.data.comparison import Comparison, RunSet
from erlbench.reporting.data.runs import StoredRun, env_labels
from erlbench.settings import setting_text

if TYPE_CHECKING:
    from erlbench.experiment.study import Entry, Profile, Study

MOST = 5  # settings that are listed
LONGEST = 60  # characters of a value


def with_departures(page: Comparison, study: Study) -> Comparison:
    """The study's page with the departures of each of its run sets."""
    plan = study.profiles[page.profile]
    entries = {entry.name: entry for entry in study.entries}
    envs = {
        label: env for env in plan.envs for entry in study.entries
        for label in env_labels(env, plan.entry_env_settings(entry))
    }  # fmt: skip

    def with_own(run_set: RunSet) -> RunSet:
        if not run_set.runs:
            return run_set
        return replace(
            run_set, departures=setting_departures(run_set.runs, plan, entries[run_set.name], envs[run_set.env])
        )

    groups = (replace(group, run_sets=tuple(map(with_own, group.run_sets))) for group in page.groups)
    return replace(page, groups=tuple(groups))


def departure_notes(run_sets: Iterable[RunSet]) -> Iterator[str]:
    """A remark on the run sets whose runs are not the study's cells."""
    differing = [
        f"{run_set.label} on {run_set.env} ({'; '.join(_listed(run_set.departures))})"
        for run_set in run_sets if run_set.departures
    ]  # fmt: skip
    if differing:
        yield f"OTHER SETTINGS than the study's: {'; '.join(differing)}."


def _listed(texts: Sequence[str]) -> list[str]:
    return [*texts[:MOST], *([f"{len(texts) - MOST} more"] if len(texts) > MOST else [])]


def setting_departures(runs: Sequence[StoredRun], profile: Profile, entry: Entry, env: str) -> tuple[str, ...]:
    """What of `runs` differs from the entry's cells in `env`, such as `hidden 32-32, not 400-300 (in 1 of 3 runs)`.

    A setting that a run does not have is not compared: an older version wrote it.
    """
    wanted, found = _cell_settings(profile, entry, env), Counter[str]()
    for run in runs:
        if run.algo not in ("", entry.algo):
            found[f"algo {_short(run.algo)}, not {entry.algo}"] += 1
            continue
        for name, value in wanted.items():
            if name in run.settings and not same_setting(run.settings[name], value):
                found[f"{name} {_short(run.settings[name])}, not {_short(value)}"] += 1
    return tuple(
        text if count == len(runs) else f"{text} (in {count} of {len(runs)} runs)" for text, count in found.items()
    )


def _cell_settings(profile: Profile, entry: Entry, env: str) -> Mapping[str, Any]:
    """The settings of an entry's cells as config.toml holds them; none of an algorithm that is not the suite's.

    A report runs no code of others: neither that of a plug-in, nor what a settings class checks with other packages.
    """
    from erlbench.experiment.study import entry_values

    if entry.algo not in ALGORITHMS:
        return {}
    try:
        return entry_values(profile, entry, env)
    except UsageError:
        return {}


def _short(value: Any) -> str:
    text = setting_text(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
