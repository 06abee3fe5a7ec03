"""What makes a cell: which runs are of one experiment, and which of several runs of a seed count.

A cell is one problem, one algorithm's name, one budget and one set of settings. Its sample are seeds. Of a seed that
was run again with the same kernel and software the first finished run counts; runs on other ones count in the seed's
mean. What a run does not record contradicts nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from erlbench.files import printable
from erlbench.records.older import WITH_BUDGET
from erlbench.reporting.data.remarks import REPEATED, Warn
from erlbench.settings import setting_text

MOST = 3  # settings in a name
LONGEST = 40  # characters of a value there
BUDGET = "total_timesteps"
GROUP = ("env", BUDGET, "total_generations", "total_minutes")  # what the cells of an environment's table share
KEY = ("env", "name", "seed", *GROUP[1:])  # what runs share only where they are several draws of one seed


def list_rows(frame: pd.DataFrame) -> list[Any]:
    """The rows of a frame, its columns as attributes; `Index` is their place."""
    return list(frame.itertuples())


def same_setting(value: Any, wanted: Any) -> bool:
    """Whether two settings are equal, lists as config.toml or as a study writes them."""
    return bool(value == wanted) or setting_text(value) == setting_text(wanted)


def count_runs(runs: pd.DataFrame, warn: Warn) -> pd.DataFrame:
    """The runs that count, those of other conditions under names of their own; the others are listed by `warn`.

    The order is that of environment, name and seed.
    """
    rows = sorted(list_rows(runs), key=lambda run: (run.started[:1], str(run.path)))
    cells: dict[Any, list[Any]] = {}
    for run in rows:
        cells.setdefault((run.name, *(getattr(run, name) for name in GROUP)), []).append(run)
    names = {
        run.Index: name for cell in cells.values() for name, own in _split_by_conditions(cell)
        for run in _counting(own, warn)
    }  # fmt: skip
    counted = runs.loc[[run.Index for run in rows if run.Index in names]]
    counted = counted.assign(name=[names[number] for number in counted.index])
    return counted.sort_values([*KEY], kind="stable", ignore_index=True)


def _conditions(run: Any) -> dict[str, Any]:
    """What two runs of a cell share: settings, modelled time, the problem as it was recorded.

    The budget is one of them where the algorithm computes with it, so that a long run cut early is another experiment.
    """
    conditions: dict[str, Any] = {**run.settings, **{f"costs.{name}": cost for name, cost in run.costs.items()}}
    if run.workers:
        conditions["workers"] = run.workers
    conditions |= {"simulated_time": run.simulated_time, "origin": run.imported.origin if run.imported else ""}
    if run.imported:
        conditions["returns"] = run.imported.returns
    if (run.algo or run.name.partition("@")[0]) in WITH_BUDGET:
        conditions[BUDGET] = run.budget
    for identity in run.identities[-1:]:
        parts = {part: identity.get(part) for part in ("model", "modules", "files")}
        conditions |= {f"problem's {part}": value for part, value in parts.items() if value}
    return conditions


def _split_by_conditions(runs: Sequence[Any]) -> Iterator[tuple[str, list[Any]]]:
    """The runs of a name by their conditions; all but those with the most seeds with these in their names."""
    variants: list[tuple[list[Any], dict[str, Any]]] = []  # runs, and all conditions that any of them records
    for run in runs:
        conditions = _conditions(run)
        variant = next((one for one in variants if not _differing(one[1], conditions)), None)
        if variant is None:
            variants.append(variant := ([], {}))
        variant[0].append(run)
        variant[1].update(conditions)
    variants.sort(key=lambda variant: -len({run.seed for run in variant[0]}))
    (first, usual), *others = variants
    yield first[0].name, first
    for own, conditions in others:
        yield f"{own[0].name} ({_in_words(conditions, _differing(usual, conditions))})", own


def _counting(runs: Sequence[Any], warn: Warn) -> Iterator[Any]:
    """Of each seed and draw the first finished run, else the first.

    A draw is what decides how a seed's sums round: kernel and versions; the processor where no kernel is recorded.
    """
    draws: dict[Any, list[Any]] = {}
    for run in runs:
        versions = str([sorted(identity.get("versions", {}).items()) for identity in run.identities])
        draws.setdefault((run.seed, run.kernels or (run.cpu,), versions), []).append(run)
    for alike in draws.values():
        counts = next((run for run in alike if run.done), alike[0])
        yield counts
        for run in alike:
            if run is not counts:
                warn(
                    f"{run.path}{REPEATED}{run.seed} of {counts.path} with the same kernel and software; listed only, "
                    "the first finished run of a seed counts"
                )


def _differing(conditions: Mapping[str, Any], others: Mapping[str, Any]) -> list[str]:
    return [name for name, value in others.items() if name in conditions and not same_setting(conditions[name], value)]


def _in_words(conditions: Mapping[str, Any], names: Sequence[str]) -> str:
    words = [
        f"another {name}" if name.startswith("problem's") else f"{name}={setting_text(conditions[name])[:LONGEST]}"
        for name in names[:MOST]
    ]
    more = [f"{len(names) - MOST} more"] if len(names) > MOST else []
    return printable(", ".join([*words, *more]))
