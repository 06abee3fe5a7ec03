"""What tasks cost in simulated time: seconds per step, update and task, measured on a machine, kept in a TOML file.

All are whole nanoseconds, and factors whole billionths, so that simulated time computes with integers alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from erlbench.experiment.toml_file import Keys, TomlFile

BILLION = 10**9  # nanoseconds in a second, and parts of a factor
BUILT_IN = Path(__file__).with_name("costs.toml")


@dataclass(frozen=True, kw_only=True)
class Costs:
    """Seconds of one process while no other one works, and of the driver. `source`: where they were measured.

    Every number is rounded to nine decimals. So a change in the last place of a float changes nothing.
    """

    timestep: float  # an environment step with its policy
    critic_update: float
    actor_update: float
    overhead: float  # a task's way to a process and back
    source: str = ""
    crowding: float = 1.0  # by which all of it takes longer while every core of that machine works
    cores: int = 1  # of that machine
    update: float = 0.0  # the driver's work between two generations, while no task runs
    spread: float = 0.0  # relative standard deviation of a task's time; simulated time does not use it
    gradient_overhead: float = 0.0  # additional time of a task with gradient steps, such as to load networks

    def __post_init__(self) -> None:
        for name, value in rounded(vars(self)).items():
            object.__setattr__(self, name, value)

    @property
    def pause(self) -> int:
        """`update` in nanoseconds."""
        return _billionths(self.update)

    def nanoseconds(self, timesteps: int, critic_updates: int, actor_updates: int) -> int:
        """How long a task takes alone."""
        return (
            _billionths(self.overhead)
            + timesteps * _billionths(self.timestep)
            + critic_updates * _billionths(self.critic_update)
            + actor_updates * _billionths(self.actor_update)
            + (_billionths(self.gradient_overhead) if critic_updates or actor_updates else 0)
        )

    def slowed(self, tasks: int) -> int:
        """By how many billionths of a factor tasks take longer while so many run at once.

        Cores share memory and clock rate. The factor grows linearly from one task to as many as there are cores; more
        tasks slow each other down no more.
        """
        others = min(tasks, self.cores) - 1
        if others <= 0:
            return BILLION
        return BILLION + round((_billionths(self.crowding) - BILLION) * others / (self.cores - 1))


def rounded(table: Mapping[str, Any]) -> dict[str, Any]:
    """Costs by name with all floats rounded to nine decimals; files of before have more."""
    return {name: _billionths(value) / BILLION if isinstance(value, float) else value for name, value in table.items()}


def _billionths(value: float) -> int:
    return round(value * BILLION)


DEFAULTS = {item.name: item.default for item in fields(Costs) if item.default is not MISSING}  # of files from before


@cache
def built_in_costs() -> Costs:
    """The costs of the package, for runs that name no file."""
    return load_costs(BUILT_IN)


def load_costs(path: Path) -> Costs:
    """The costs in the table `costs` of a TOML file; a `UsageError` names what is wrong in it."""
    file = TomlFile(path)
    return read_costs(file, file.data.get("costs", {}), ("costs",))


def read_costs(file: TomlFile, table: Any, where: Keys) -> Costs:
    """The costs in a table of a file, at `where` in it; a `UsageError` names the mistake."""
    costs: Costs = file.build(Costs, table, where)
    for name, value in vars(costs).items():
        least = 1 if name in ("crowding", "cores") else 0
        if name != "source" and not least <= value < 1e6:
            unit = "" if least or name == "spread" else "seconds, "
            file.fail(f"'{name}' must be {unit}at least {least}, not {table[name]!r}", (*where, name))
    return costs
