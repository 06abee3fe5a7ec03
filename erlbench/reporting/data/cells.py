"""What makes a cell: which runs are of one experiment, and which of several runs of a seed count.

A cell is one problem, one algorithm's name, one budget and one set of settings. Its sample are seeds. Of a seed that
was run again with the same kernel and software the first finished run counts; runs on other ones count in the seed's
mean. What a run does not record contradicts nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from erlbench.files import printable
from erlbench.records.older import WITH_BUDGET
from erlbench.reporting.data.remarks import RemarkKind, Warn, remark
from erlbench.reporting.data.seeds import STD
from erlbench.settings import setting_text
from erlbench.words import counted

if TYPE_CHECKING:
    from erlbench.reporting.data.runs import StoredRun

MOST = 3  # settings in a name
LONGEST = 40  # characters of a value there
BUDGET = "total_timesteps"


@dataclass
class _Variant:
    """The runs of one name that have equal conditions; `known` are all that any of them records."""

    runs: list[StoredRun] = field(default_factory=list)
    known: dict[str, Any] = field(default_factory=dict)

    @property
    def seeds(self) -> int:
        return len({run.seed for run in self.runs})

    def takes(self, conditions: Mapping[str, Any]) -> bool:
        return not _differing(self.known, conditions)


def same_setting(value: Any, wanted: Any) -> bool:
    """Whether two settings are equal, lists as config.toml or as a study writes them."""
    return bool(value == wanted) or setting_text(value) == setting_text(wanted)


def conditions_of(run: StoredRun) -> dict[str, Any]:
    """What two runs of a cell share: settings, modelled time, the problem as it was recorded.

    The budget is one of them where the algorithm computes with it, so that a long run cut early is another experiment.
    """
    found: dict[str, Any] = {**run.settings, **{f"costs.{name}": cost for name, cost in run.costs.items()}}
    if run.workers:
        found["workers"] = run.workers
    found["simulated_time"] = run.simulated_time
    found["origin"] = run.imported.origin if run.imported else ""
    if run.imported:
        found["returns"] = run.imported.returns
    if (run.algo or run.name.partition("@")[0]) in WITH_BUDGET:
        found[BUDGET] = run.budget
    for identity in run.machine.identities[-1:]:
        parts = {part: identity.get(part) for part in ("model", "modules", "files")}
        found |= {f"problem's {part}": value for part, value in parts.items() if value}
    return found


def cells_of(runs: Sequence[StoredRun], warn: Warn) -> list[StoredRun]:
    """The runs that count, those of other conditions under names of their own; the others are listed by `warn`.

    The order is that of environment, name and seed.
    """
    cells: dict[Any, list[StoredRun]] = {}
    for run in sorted(runs, key=lambda run: (run.machine.started[:1], str(run.path))):
        cells.setdefault((run.key[:2], run.key[3:]), []).append(run)
    found = [run for cell in cells.values() for named in _apart(cell) for run in _counting(named, warn)]
    return sorted(found, key=lambda run: (run.key, run.machine.started[:1], str(run.path)))


def draw_of(run: StoredRun) -> tuple[Any, ...]:
    """What decides how a seed's sums round: kernel and versions of packages; the processor where no kernel is known."""
    versions = [sorted(identity.get("versions", {}).items()) for identity in run.machine.identities]
    return run.machine.kernels or (run.machine.cpu,), str(versions)


def several_draws(cells: Iterable[tuple[str, Sequence[StoredRun]]]) -> Iterator[str]:
    """A remark on the cells (label, runs) with seeds that count by the mean of several runs."""
    found = []
    for label, runs in cells:
        seeds = [run.seed for run in runs]
        if twice := sorted({seed for seed in seeds if seeds.count(seed) > 1}):
            found.append(f"{label} ({counted(len(runs), 'run')}, seed {', '.join(map(str, twice))} on several)")
    if found:
        yield (
            f"SEVERAL KERNELS: a seed that ran with several kernels or packages counts once, by the mean of its runs; "
            f"n counts seeds; Std is {STD}: {'; '.join(found)}."
        )


def _apart(runs: Sequence[StoredRun]) -> Iterator[list[StoredRun]]:
    """The runs of a name by their conditions; all but those with the most seeds with these in their names."""
    variants: list[_Variant] = []
    for run in runs:
        conditions = conditions_of(run)
        variant = next((one for one in variants if one.takes(conditions)), None)
        if variant is None:
            variants.append(variant := _Variant())
        variant.runs.append(run)
        variant.known |= conditions
    first, *others = sorted(variants, key=lambda variant: -variant.seeds)
    yield first.runs
    for variant in others:
        label = f"{variant.runs[0].name} ({_in_words(variant.known, _differing(first.known, variant.known))})"
        yield [replace(run, name=label) for run in variant.runs]


def _counting(runs: Sequence[StoredRun], warn: Warn) -> Iterator[StoredRun]:
    """Of each seed and draw the first finished run, else the first."""
    draws: dict[Any, list[StoredRun]] = {}
    for run in runs:
        draws.setdefault((run.seed, draw_of(run)), []).append(run)
    for alike in draws.values():
        counts = next((run for run in alike if run.done), alike[0])
        yield counts
        for run in alike:
            if run is not counts:
                warn(remark(RemarkKind.REPEATED, run.path, seed=run.seed, other=counts.path))


def _differing(known: Mapping[str, Any], conditions: Mapping[str, Any]) -> list[str]:
    return [name for name, value in conditions.items() if name in known and not same_setting(known[name], value)]


def _in_words(conditions: Mapping[str, Any], names: Sequence[str]) -> str:
    words = [
        f"another {name}" if name.startswith("problem's") else f"{name}={setting_text(conditions[name])[:LONGEST]}"
        for name in names[:MOST]
    ]
    more = [f"{len(names) - MOST} more"] if len(names) > MOST else []
    return printable(", ".join([*words, *more]))
