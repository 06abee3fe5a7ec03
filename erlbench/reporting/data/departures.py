"""Settings of runs that are not those of their study's cells: a command or another version gave them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from erlbench.errors import UsageError
from erlbench.reporting.data.runs import Run

if TYPE_CHECKING:
    from erlbench.experiment.studies import Entry, Profile
    from erlbench.reporting.data.comparison import RunSet

MOST = 5  # settings that are listed


def same_setting(value: Any, wanted: Any) -> bool:
    """Whether two settings are equal, lists as config.toml or as a study writes them."""
    return value == wanted or _text(value) == _text(wanted)


def setting_departures(runs: Sequence[Run], profile: Profile, entry: Entry, env: str) -> tuple[str, ...]:
    """The settings of `runs` that differ from the entry's cells in `env`, such as `hidden 32-32, not 400-300`.

    A setting that a run does not have is not compared: an older version wrote it. Nothing is compared if the entry's
    algorithm is not installed.
    """
    wanted = _cell_settings(profile, entry, env) if runs else {}
    found: dict[str, None] = {}  # in their order
    for name, value in wanted.items():
        for run in runs:
            if name in run.settings and not same_setting(run.settings[name], value):
                found[f"{name} {_text(run.settings[name])}, not {_text(value)}"] = None
    return tuple(found)


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


def _cell_settings(profile: Profile, entry: Entry, env: str) -> Mapping[str, Any]:
    """The settings of an entry's cells as config.toml holds them."""
    from erlbench.experiment.studies import entry_settings
    from erlbench.settings import toml_values

    try:
        return toml_values(entry_settings(profile, entry, env))
    except UsageError:
        return {}


def _text(value: Any) -> str:
    return "-".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
