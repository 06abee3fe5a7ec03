"""How cells become jobs; imports nothing heavy, so that the command line can check it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from erlbench.errors import UsageError, nearest

LAUNCHERS = ("slurm", "ray")
_LAUNCHER = re.compile(r"slurm|ray(://[^\s/]+:\d+)?")


@dataclass(frozen=True)
class LaunchOptions:
    """An engine, and what it is asked for."""

    launcher: str  # slurm, ray or ray://HOST:PORT
    logs: Path  # of submitit: what the jobs print, and what they were sent
    slurm: Mapping[str, str] = field(default_factory=dict)  # partition, time, cpus, ...
    at_once: int | None = None  # jobs; None: as many as the engine runs

    @property
    def engine(self) -> str:
        """The name in `LAUNCHERS`."""
        return self.launcher.partition("://")[0]


def check_launcher(name: str) -> None:
    """Raise a `UsageError` when there is no such launcher."""
    if not _LAUNCHER.fullmatch(name):
        hint = nearest(name.partition("://")[0], LAUNCHERS)
        raise UsageError(f"--launcher must be slurm, ray or ray://HOST:PORT, not '{name}'{hint}")
