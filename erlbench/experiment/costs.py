"""What tasks cost in simulated time: seconds per step, update and task, measured on a machine, kept in a TOML file.

All are whole nanoseconds, and factors whole billionths, so that simulated time computes with integers alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from erlbench.experiment.toml_file import Keys, TomlFile

BILLION = 10**9  # nanoseconds in a second, and parts of a factor
BUILT_IN = "costs.toml"  # beside this module


@dataclass(frozen=True, kw_only=True)
class Costs:
    """Seconds of one process while no other one works, and of the driver. `source` says where they were measured.

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
    gradient_overhead: float = 0.0  # what a task with gradient steps takes besides, such as to load networks

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

    def seconds(self, timesteps: int, critic_updates: int, actor_updates: int) -> float:
        """The same in seconds."""
        return self.nanoseconds(timesteps, critic_updates, actor_updates) / BILLION

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
    return load_costs(Path(str(files("erlbench.experiment") / BUILT_IN)))


def load_costs(path: Path) -> Costs:
    """The costs in a TOML file, or in its table `costs`; a `UsageError` names what is wrong in it."""
    file = TomlFile(path)
    known = [item.name for item in fields(Costs)]
    table = file.table(file.data.get("costs", {}), ("costs",)) or file.data  # of a run's config.toml, or of a file
    if table is file.data:
        file.known(table, [*known, "cell", "machine"], ())
        table = {key: value for key, value in table.items() if key in known}
    return read_costs(file, table, ())


def read_costs(file: TomlFile, table: Mapping[str, Any], where: Keys) -> Costs:
    """The costs in a table of a file, which stands at `where`; a `UsageError` names what is wrong in it."""
    known = [item.name for item in fields(Costs)]
    file.known(table, known, where)
    values: dict[str, Any] = {}
    for name in known:
        if name not in table and name not in DEFAULTS:
            file.fail(f"'{name}' is missing", where)
        value: Any = table.get(name, DEFAULTS.get(name))
        if name != "source" and (isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e6):
            what = "" if name in ("crowding", "cores", "spread") else "seconds, "
            file.fail(f"'{name}' must be {what}a number of at least 0, not {value!r}", (*where, name))
        if name in ("crowding", "cores") and value < 1:
            file.fail(f"'{name}' must be at least 1, not {value!r}", (*where, name))
        values[name] = str(value) if name == "source" else int(value) if name == "cores" else float(value)
    return Costs(**values)
