"""The table of a plan of before format 2: what its looks decided, and whether the study followed it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from erlbench.experiment.early_plan import StudyPlan, load_plan
from erlbench.experiment.plan_file import plan_hash
from erlbench.reporting.data.runs import Run
from erlbench.reporting.documents.formats import number, p_value
from erlbench.reporting.documents.model import Column, Table
from erlbench.reporting.statistics.significance import Difference, compare
from erlbench.words import counted


@dataclass(frozen=True, kw_only=True)
class Look:
    """One row: a comparison at one look."""

    env: str
    algorithm: str
    seeds: int
    boundary: float
    difference: Difference | None  # None while runs are missing
    stopped: bool  # at an earlier look
    last: bool  # no further look is planned

    @property
    def stops(self) -> bool:
        """Whether the comparison ends here, by its result."""
        return self.difference is not None and self.difference.welch <= self.boundary

    @property
    def decision(self) -> str:
        """What the plan says at this look."""
        if self.stopped:
            return "stopped before"
        if self.difference is None:
            return "runs are missing"
        if math.isnan(self.difference.welch):
            return "cannot be tested"
        if self.stops:
            return "stop: better" if self.difference.difference > 0 else "stop: worse"
        return "end: no difference found" if self.last else "go on"


def plan_table(folder: Path, runs: Sequence[Run]) -> Table[Look] | None:
    """The table of the plan in a folder of results; None without a plan. `runs` may be of other folders, too."""
    plan = load_plan(folder)
    if plan is None:
        return None
    own = [run for run in runs if folder.resolve() in run.path.resolve().parents]
    columns: list[Column[Look]] = [
        Column("Environment", lambda row: row.env, name="env"),
        Column("Algorithm", lambda row: row.algorithm, name="name"),
        Column("Seeds", lambda row: row.seeds, str),
        Column("Difference", lambda row: row.difference.difference if row.difference else math.nan, number),
        Column("p", lambda row: row.difference.welch if row.difference else math.nan, p_value, name="p_welch"),
        Column("Stops at", lambda row: row.boundary, lambda p: f"{p:.3g}", name="boundary"),
        Column("Decision", lambda row: row.decision),
    ]  # fmt: skip
    remarks = [
        f"Plan of {plan.written}, SHA-256 {plan_hash(folder)}: Welch's test of each algorithm against {plan.baseline} "
        f"after {', '.join(map(str, plan.looks))} seeds a side, {plan.spending} spending, level {plan.level:g} for all "
        f"{plan.comparisons} comparisons; chosen for a difference of {100 * plan.difference:g} % and power "
        f"{plan.power:g}{f' (by the pilots: {plan.power_by_pilots:.2f})' if plan.power_by_pilots else ''}.",
        *_followed(plan, own, plan_hash(folder)),
    ]
    rows = [look for env in plan.environments for name in plan.algorithms for look in _looks(plan, own, env, name)]
    return Table("plan", "The plan of the study", columns, rows, remarks)


def _looks(plan: StudyPlan, runs: Sequence[Run], env: str, name: str) -> Iterator[Look]:
    stopped = False
    for seeds, boundary in zip(plan.looks, plan.p, strict=True):
        ours, base = (_scores(plan, runs, env, one, seeds) for one in (name, plan.baseline))
        found = compare(ours, base) if ours is not None and base is not None else None
        look = Look(
            env=env, algorithm=name, seeds=seeds, boundary=boundary, difference=found, stopped=stopped,
            last=seeds == plan.looks[-1],
        )  # fmt: skip
        yield look
        stopped = stopped or look.stops


def _scores(plan: StudyPlan, runs: Sequence[Run], env: str, name: str, seeds: int) -> list[float] | None:
    """The scores of the seeds 0 to `seeds` - 1; None while one of them is not there."""
    found = {
        run.seed: float(run.evaluations.return_mean[-1])
        for run in runs if (run.env, run.name, run.total_timesteps) == (env, name, plan.total_timesteps) and run.done
    }  # fmt: skip
    return [found[seed] for seed in range(seeds)] if all(seed in found for seed in range(seeds)) else None


def _followed(plan: StudyPlan, runs: Sequence[Run], digest: str) -> Iterator[str]:
    """Whether every run belongs to the plan, as it is now, and was started under it."""
    names = {plan.baseline, *plan.algorithms}
    planned = [run for run in runs if run.name in names and run.env in plan.environments]
    before = [run for run in planned if run.machine.plans != (digest,)]
    strangers = [run for run in planned if run.seed >= plan.looks[-1] or run.total_timesteps != plan.total_timesteps]
    failed = [run for run in planned if run.status == "failed"]
    faults = []
    if before:
        faults.append(f"{len(before)} of {len(planned)} runs were not started under this plan")
    if strangers:
        faults.append(f"{counted(len(strangers), 'run')} with a seed or a budget that it does not have")
    if failed:
        faults.append(f"{counted(len(failed), 'run')} failed")
    if not planned:
        yield "No run of the plan has begun."
    elif faults:
        yield f"The study does not follow its plan: {'; '.join(faults)}."
    else:
        yield f"The study follows its plan: all {len(planned)} runs were started under it."
