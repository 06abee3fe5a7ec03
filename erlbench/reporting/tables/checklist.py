"""The tables of the reproducibility checklist: what was run, with which settings, and what it took to compute."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from erlbench.experiment.fairness import overridden
from erlbench.reporting.data.comparison import Comparison, Group, RunSet
from erlbench.reporting.data.runs import Run
from erlbench.reporting.data.spent import RunTime, time_of, times_aside
from erlbench.reporting.documents.formats import significant
from erlbench.reporting.documents.model import BOLD, PLAIN, Column, Table
from erlbench.settings import setting_text

TOTAL = "Total"
UNKNOWN = "not recorded"


@dataclass(frozen=True)
class ListedCell:
    """An algorithm in an environment, with one budget."""

    group: Group
    run_set: RunSet

    @property
    def seeds(self) -> str:
        """All seeds of the cell, those with a finished run or not."""
        return ", ".join(map(str, dict.fromkeys(run.seed for run in self.run_set.runs)))

    def asked(self, name: str) -> str:
        """What config.toml says of the runs, each value once."""
        values = (run.asked.get(name) for run in self.run_set.runs)
        return " / ".join(dict.fromkeys(UNKNOWN if value in (None, "") else str(value) for value in values))


@dataclass(frozen=True)
class SettingLine:
    """A setting of an algorithm: a value, and where it has it."""

    name: str
    setting: str
    value: str
    environments: tuple[str, ...]
    typed: bool


@dataclass(frozen=True)
class ComputeLine:
    """The computing time of a cell, or of all of them."""

    env: str
    name: str
    counted: tuple[RunTime, ...]
    others: tuple[RunTime, ...]  # runs that failed, were interrupted, or never trained
    aside: tuple[RunTime, ...]
    machines: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[RunTime, ...]:
        """All of its runs."""
        return (*self.counted, *self.others, *self.aside)


def listed_cells(whole: Comparison) -> list[ListedCell]:
    """The cells of all runs."""
    return [ListedCell(group, one) for group in whole.groups for one in group.run_sets if one.runs]


def cells_table(cells: Sequence[ListedCell]) -> Table[ListedCell]:
    """Seeds, budgets and evaluations."""
    columns: list[Column[ListedCell]] = [
        Column("Environment", lambda row: row.group.env),
        Column("Algorithm", lambda row: row.run_set.name),
        Column("Budget", lambda row: row.group.limit),
        Column("Seeds", lambda row: row.seeds, note="given; a run's initial policy, exploration and start states "
               "follow from its seed."),
        Column("Finished seeds", lambda row: len(row.run_set.seeds), str),
        Column("Evaluated every", lambda row: row.asked("eval_freq"), unit="steps"),
        Column("Episodes", lambda row: row.asked("eval_episodes"), note="of an evaluation."),
        Column("Final episodes", lambda row: row.asked("final_episodes"), note="of the final evaluation."),
        Column("Workers", lambda row: row.asked("workers")),
    ]  # fmt: skip
    return Table("runs", "What was run", columns, cells)


def settings_table(runs: Iterable[Run]) -> Table[SettingLine] | None:
    """All hyper-parameters by algorithm; None where no run records any."""
    found: dict[tuple[str, str, str, bool], dict[str, None]] = {}
    for run in runs:
        typed = overridden(run.config)
        for setting, value in run.settings.items():
            key = run.name, setting, setting_text(value), setting in typed
            found.setdefault(key, {})[run.env] = None
    names = list(dict.fromkeys(key[:2] for key in found))
    rows = sorted((SettingLine(*key[:3], tuple(envs), key[3]) for key, envs in found.items()),
                  key=lambda row: names.index((row.name, row.setting)))  # fmt: skip
    if not rows:
        return None
    columns: list[Column[SettingLine]] = [
        Column("Algorithm", lambda row: row.name),
        Column("Setting", lambda row: row.setting),
        Column("Value", lambda row: row.value),
        Column("Chosen by", lambda row: "the user" if row.typed else "the preset",
               note="the preset: a default of the algorithm, whose source its page names; of an algorithm that is not "
               "the suite's, nothing is known about defaults."),
        Column("Environments", lambda row: ", ".join(row.environments)),
    ]  # fmt: skip
    return Table("settings", "Settings", columns, rows)


def compute_lines(cells: Sequence[ListedCell], machine: Callable[[Run], str]) -> list[ComputeLine]:
    """The time of each cell, and of all; `machine` describes that of a run."""
    lines = [
        ComputeLine(
            cell.group.env, cell.run_set.name,
            tuple(time_of(run) for run in cell.run_set.done),
            tuple(time_of(run) for run in cell.run_set.runs if not run.done),
            tuple(time for run in cell.run_set.runs for time in times_aside(run)),
            tuple(dict.fromkeys(map(machine, cell.run_set.runs))),
        )
        for cell in cells
    ]  # fmt: skip
    parts = ([time for line in lines for time in getattr(line, name)] for name in ("counted", "others", "aside"))
    return [*lines, ComputeLine(TOTAL, "", *map(tuple, parts))]


def compute_table(lines: Sequence[ComputeLine]) -> Table[ComputeLine]:
    """Hours of each cell and in total."""
    style = lambda row: BOLD if row.env == TOTAL else PLAIN  # noqa: E731
    columns: list[Column[ComputeLine]] = [
        Column("Environment", lambda row: row.env, style=style),
        Column("Algorithm", lambda row: row.name),
        Column("Runs", lambda row: len(row.counted), str, note="finished ones, which the results show."),
        Column("Hours", lambda row: hours(row.counted, "clock"), _hours, style=style,
               note="by the clock, with evaluations, without pauses; several runs may have shared the machine."),
        Column("Not finished", lambda row: len(row.others), str, note="failed, interrupted, running, or never "
               "trained."),
        Column("Their hours", lambda row: hours(row.others, "clock"), _hours),
        Column("Moved aside", lambda row: len(row.aside), str, note="runs that another run of their seed replaced."),
        Column("Hours of those", lambda row: hours(row.aside, "clock"), _hours),
        Column("Processor hours", lambda row: hours(row.all, "processor"), _hours,
               note="of all tasks of all these runs, without a second core's."),
        Column("Modelled hours", lambda row: hours(row.all, "modelled"), _hours,
               note="of runs in simulated time: what the model says, and no computing."),
        Column("Not recorded", lambda row: sum(not time.known for time in row.all), str,
               note="runs whose computing time no file says; the hours are without them."),
        Column("Machine", lambda row: "; ".join(row.machines), words=True),
    ]  # fmt: skip
    return Table("compute", "Computing time", columns, lines)


def hours(times: Iterable[RunTime], kind: str) -> float:
    """The sum of those that are known; NaN where none is."""
    known = [value for time in times if not math.isnan(value := getattr(time, kind))]
    return math.fsum(known) if known else math.nan


def _hours(value: float) -> str:
    return "–" if math.isnan(value) else significant(value)
