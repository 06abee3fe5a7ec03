"""What tasks cost in simulated time: seconds per step, update and task, measured on a machine, kept in a TOML file."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from erlbench.experiment.toml_file import TomlFile


@dataclass(frozen=True)
class Costs:
    """Seconds of one process. `source` says where they were measured.

    Without a file: HalfCheetah's physics and policy, TD3's updates of 400-300 networks with batch 100, rounded.
    """

    timestep: float = 1e-4  # an environment step with its policy
    critic_update: float = 4e-3
    actor_update: float = 2e-3
    overhead: float = 1e-3  # a task's way to a process and back
    source: str = "built in"

    def seconds(self, timesteps: float, critic_updates: float, actor_updates: float) -> float:
        """How long a task takes."""
        return (
            self.overhead
            + timesteps * self.timestep
            + critic_updates * self.critic_update
            + actor_updates * self.actor_update
        )


def load_costs(path: Path) -> Costs:
    """The costs in a file that `save_costs` wrote; a `UsageError` names what is wrong in it."""
    file = TomlFile(path)
    known = [item.name for item in fields(Costs)]
    table = file.table(file.data.get("costs", {}), ("costs",)) or file.data  # of a run's config.toml, or of a file
    if table is file.data:
        file.known(table, [*known, "cell", "machine"], ())
    values: dict[str, Any] = {}
    for name in known:
        value = table.get(name, "" if name == "source" else 0.0)
        if name != "source" and (isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e6):
            file.fail(f"'{name}' must be seconds, a number of at least 0, not {value!r}", (name,))
        values[name] = str(value) if name == "source" else float(value)
    return Costs(**values)
