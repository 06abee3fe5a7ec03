"""What makes a cell: which runs are of one experiment, and which of several runs of a seed count.

A cell is one problem, one algorithm's name, one budget and one set of settings. Its sample are seeds. Of a seed that
was run again with the same kernel and software the first finished run counts; runs on other ones count in the seed's
mean. What a run does not record contradicts nothing.
"""

from __future__ import annotations

import math
import re
from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from erlbench.files import printable, strip_unpacked, table_in
from erlbench.records.older import WITH_BUDGET
from erlbench.reporting.formats import list_first
from erlbench.reporting.statistics import Array, group_items
from erlbench.settings import setting_text
from erlbench.words import counted

MOST = 3  # settings in a name
LONGEST = 40  # characters of a value there
BUDGET = "total_timesteps"
GROUP = ("env", BUDGET, "total_generations", "total_minutes")  # what the cells of an environment's table share
KEY = ("env", "name", "seed", *GROUP[1:])  # what runs share only where they are several draws of one seed


def list_rows(frame: pd.DataFrame) -> list[Any]:
    """The rows of a frame as `itertuples` has them, whose class is made once for all frames of the same columns."""
    if not len(frame):
        return []
    return [*map(_row_class(*frame)._make, zip(frame.index, *(frame[name].tolist() for name in frame)))]


@cache
def _row_class(*names: str) -> Any:
    return namedtuple("Row", ["Index", *names], rename=True)


def same_setting(value: Any, wanted: Any) -> bool:
    """Whether two settings are equal, lists as config.toml or as a study writes them."""
    return bool(value == wanted) or setting_text(value) == setting_text(wanted)


def select_counted_runs(runs: pd.DataFrame, warn: Warn) -> pd.DataFrame:
    """The runs that count, with other names under other conditions; `warn` lists the others.

    Ordered by environment, name and seed. Of each seed and draw the first finished run counts, else the
    first. A draw is what decides how a seed's sums round: kernel and versions; the processor where no kernel is known.
    """
    begun = [((*started, "")[0], str(path)) for started, path in zip(runs.started, runs.path)]
    runs = runs.iloc[sorted(range(len(runs)), key=begun.__getitem__)].copy()
    runs["name"] = pd.concat([_name_conditions(cell) for _, cell in runs.groupby(["name", *GROUP], sort=False)])
    versions = (
        str([sorted(table_in(identity, "versions").items()) for identity in identities])
        for identities in runs.identities
    )
    draws = [str(draw) for draw in zip(runs.kernels.where(runs.kernels.map(bool), runs.cpu), versions)]
    alike = runs.assign(draw=draws).sort_values("done", ascending=False, kind="stable").groupby([*KEY, "draw"])
    first = alike.path.transform("first").loc[runs.index]
    for path, seed, other in zip(runs.path, runs.seed, first):
        if path != other:
            warn(
                f"{path}: repeats seed {seed} of {other} with the same kernel and software; it does not count, the "
                "first finished run of a seed does"
            )
    return runs[runs.path == first].sort_values([*KEY], kind="stable", ignore_index=True)


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
        recorded = {key: identity.get(key) for key in ("model", "modules", "files")}
        conditions |= {f"problem's {key}": value for key, value in recorded.items() if value}
    return conditions


def _name_conditions(cell: pd.DataFrame) -> pd.Series[str]:
    """The names of the runs of a cell; conditions that most seeds do not have are part of the name."""
    variants: list[tuple[list[Any], dict[str, Any]]] = []  # runs, and all conditions that any of them records
    for run in list_rows(cell):
        conditions = _conditions(run)
        variant = next((candidate for candidate in variants if not _list_differing(candidate[1], conditions)), None)
        if variant is None:
            variants.append(variant := ([], {}))
        variant[0].append(run)
        variant[1].update(conditions)
    variants.sort(key=lambda variant: -len({run.seed for run in variant[0]}))
    names, descriptions = cell["name"].copy(), list[str]()
    for runs, conditions in variants[1:]:
        descriptions.append(words := _describe_conditions(conditions, _list_differing(variants[0][1], conditions)))
        alike = descriptions.count(words)  # the words may leave out what differs
        names[[run.Index for run in runs]] += f" ({words}{f', variant {alike}' * (alike > 1)})"
    return names


def _list_differing(conditions: Mapping[str, Any], others: Mapping[str, Any]) -> list[str]:
    return [name for name, value in others.items() if name in conditions and not same_setting(conditions[name], value)]


def _describe_conditions(conditions: Mapping[str, Any], names: Sequence[str]) -> str:
    words = [
        f"another {name}" if name.startswith("problem's") else f"{name}={setting_text(conditions[name])[:LONGEST]}"
        for name in names
    ]
    return printable(", ".join(list_first(words, MOST)))


STD = "the standard deviation of a single run, from the variance between seeds and within them"


def values_by_seed(runs: Iterable[Any], value: Callable[[Any], float]) -> list[Array]:
    """A value of the runs of each seed (runs of the seed,), seeds in the order of their first runs."""
    by_seed = group_items((run.seed, value(run)) for run in runs)
    return [np.array(values, np.float64) for values in by_seed.values()]


def seed_means(values: Sequence[Array]) -> Array:
    """The mean of each seed's runs (seeds,)."""
    return np.array([scores.mean() for scores in values])


def single_run_std(values: Sequence[Array]) -> float:
    """The standard deviation of a single run, from the values of each seed's runs; NaN for fewer than two seeds.

    Its square is the sample variance of the seeds' means plus the mean of the variances within seeds, each divided by
    the number of its runs: without bias whether the runs of a seed are alike or as different as runs of other seeds.
    With one run a seed it is the sample standard deviation.
    """
    if len(values) < 2:
        return math.nan
    return math.sqrt(seed_means(values).var(ddof=1) + np.mean([scores.var() for scores in values]))


def sample_words(seeds: int, runs: int, planned: int | None = None) -> str:
    """`3 runs`, or `3 seeds, 6 runs` where seeds have several; `2 of 3 runs` where other seeds are planned."""
    several = f", {counted(runs, 'run')}" if runs != seeds else ""
    of, whole = ("", seeds) if planned in (None, seeds) else (f"{seeds:,} of ", planned or 0)
    return f"{of}{counted(whole, 'seed' if several else 'run')}{several}"


Warn = Callable[[str], None]
LEFT_OUT = ": left out: "  # between a folder and why nothing of it is in the report, which is not whole then
_PATH = re.compile(r"\S*/\S*(?=[:;,]|\s|$)")


def clean(text: str) -> str:
    """A warning as one line, without the folders into which bundles were unpacked."""
    return strip_unpacked(printable(text))


def fold(warnings: Iterable[str]) -> list[str]:
    """The first of the warnings that differ in their paths only, with the number of the others; in their order.

    A folder that was left out is never folded: a reader must see it.
    """
    alike = group_items((text if LEFT_OUT in text else _PATH.sub("", text), text) for text in map(clean, warnings))
    return [first + (f" (and {len(others)} more like this)" if others else "") for first, *others in alike.values()]
