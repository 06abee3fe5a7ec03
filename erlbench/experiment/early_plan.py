"""The plans of before format 2, which only reports read: algorithms against one baseline, seeds from 0 on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from erlbench import files
from erlbench.errors import UsageError
from erlbench.experiment.plan import FILE
from erlbench.experiment.plan_file import is_of_today
from erlbench.settings import check_value

if TYPE_CHECKING:
    from erlbench.experiment.cells import Cell


@dataclass(frozen=True, kw_only=True)
class StudyPlan:
    """What is compared, after how many seeds it is tested, and which p-values stop."""

    baseline: str
    algorithms: tuple[str, ...]  # names, each against the baseline
    environments: tuple[str, ...]
    total_timesteps: int
    level: float  # of the whole study
    power: float  # that was asked for
    difference: float  # of the baseline's mean, that the seeds were chosen for
    spending: str
    looks: tuple[int, ...]  # seeds a side; the seeds are 0, 1, ... in this order
    p: tuple[float, ...]  # the largest p-value of Welch's test that stops at each look, for one comparison
    written: str  # time, UTC
    power_by_pilots: float = 0.0  # to find `difference` where the pilots' spread is worst; 0: the file does not say

    @property
    def comparisons(self) -> int:
        """How many tests share the level."""
        return len(self.algorithms) * len(self.environments)


def load_plan(folder: Path) -> StudyPlan | None:
    """The plan of before in a folder of results; None without one. Raises `UsageError` for a file that is none."""
    path = folder / FILE
    if not path.is_file() or is_of_today(path):
        return None
    try:
        return _plan(files.read_toml(path))
    except (OSError, ValueError, TypeError, UsageError) as error:
        raise UsageError(f"{path} is no plan that `erlbench plan` wrote: {error}") from error


def departures(plan: StudyPlan, cells: Iterable[Cell]) -> list[str]:
    """What in the cells of a plan's comparisons is not as it says, one phrase each."""
    names = {plan.baseline, *plan.algorithms}
    planned = [cell for cell in cells if cell.name in names and cell.env in plan.environments and not cell.env_settings]
    phrases = []
    if budgets := {cell.total_timesteps for cell in planned} - {plan.total_timesteps}:
        phrases.append(
            f"a budget of {', '.join(f'{n:,}' for n in sorted(budgets))} steps, not {plan.total_timesteps:,}"
        )
    if seeds := sorted({cell.seed for cell in planned if cell.seed >= plan.looks[-1]}):
        phrases.append(f"seed {seeds[0]}, beyond the last look after {plan.looks[-1]} seeds")
    return phrases


def _plan(values: Mapping[str, Any]) -> StudyPlan:
    hints = get_type_hints(StudyPlan)
    plan = StudyPlan(**{name: check_value(v, hints[name], name) if name in hints else v for name, v in values.items()})
    if not plan.looks or len(plan.looks) != len(plan.p):
        raise ValueError("looks and p must have the same length, and at least one value")
    return plan
