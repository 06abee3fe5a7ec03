"""What tasks cost in simulated time: seconds per step, update and task, measured on a machine, kept in a TOML file."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from erlbench.experiment.toml_file import TomlFile

BUILT_IN = "costs.toml"  # beside this module; `erlbench calibrate --out` writes it anew


@dataclass(frozen=True)
class Costs:
    """Seconds of one process while no other one works, and of the driver. `source` says where they were measured."""

    timestep: float  # an environment step with its policy
    critic_update: float
    actor_update: float
    overhead: float  # a task's way to a process and back
    source: str = ""
    crowding: float = 1.0  # by which all of it takes longer while every core of that machine works
    cores: int = 1  # of that machine
    update: float = 0.0  # the driver's work between two generations, while no task runs
    spread: float = 0.0  # relative standard deviation of a task's time; a forecast's, not simulated time's
    gradient_overhead: float = 0.0  # what a task with gradient steps takes besides, such as to load networks

    def seconds(self, timesteps: float, critic_updates: float, actor_updates: float) -> float:
        """How long a task takes."""
        return (
            self.overhead
            + timesteps * self.timestep
            + critic_updates * self.critic_update
            + actor_updates * self.actor_update
            + (self.gradient_overhead if critic_updates or actor_updates else 0.0)
        )

    def slowed(self, tasks: int) -> float:
        """By which factor tasks take longer while so many run at once: cores share memory and clock rate.

        It grows linearly from one task to as many as there are cores; more tasks slow each other down no more.
        """
        others = min(tasks, self.cores) - 1
        return 1 + (self.crowding - 1) * others / (self.cores - 1) if others > 0 else 1.0


DEFAULTS = {item.name: item.default for item in fields(Costs) if item.default is not MISSING}  # of files from before


@cache
def built_in_costs() -> Costs:
    """The costs of the package, for runs that name no file."""
    return load_costs(Path(str(files("erlbench.experiment") / BUILT_IN)))


def load_costs(path: Path) -> Costs:
    """The costs in a file that `save_costs` wrote; a `UsageError` names what is wrong in it."""
    file = TomlFile(path)
    known = [item.name for item in fields(Costs)]
    table = file.table(file.data.get("costs", {}), ("costs",)) or file.data  # of a run's config.toml, or of a file
    file.known(table, [*known, "cell", "machine"] if table is file.data else known, ())
    values: dict[str, Any] = {}
    for name in known:
        if name not in table and name not in DEFAULTS:
            file.fail(f"'{name}' is missing", ())
        value: Any = table.get(name, DEFAULTS.get(name))
        if name != "source" and (isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e6):
            what = (
                "a number of at least 0"
                if name in ("crowding", "cores", "spread")
                else "seconds, a number of at least 0"
            )
            file.fail(f"'{name}' must be {what}, not {value!r}", (name,))
        if name in ("crowding", "cores") and value < 1:
            file.fail(f"'{name}' must be at least 1, not {value!r}", (name,))
        values[name] = str(value) if name == "source" else int(value) if name == "cores" else float(value)
    return Costs(**values)
