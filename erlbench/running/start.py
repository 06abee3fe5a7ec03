"""What meta.json records of a start."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from erlbench.algorithms import registry
from erlbench.experiment.cells import Cell, RunOptions
from erlbench.machine import kernel
from erlbench.machine.threads import threads_of_libraries
from erlbench.pool import Pool
from erlbench.running.checkpoint import FORMAT
from erlbench.work.trial import Admission


def start_of(
    cell: Cell,
    asked: RunOptions,
    machine: Mapping[str, Any],
    pool: Pool,
    identity: Mapping[str, Any] | None,
    admission: Admission,
) -> dict[str, Any]:
    """The start of a cell on `machine`."""
    machine = {**machine, "threads": threads_of_libraries()}
    return {
        "format": FORMAT,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "pool": asked.pool,
        "processes": pool.processes,
        **({} if asked.jobs is None else {"jobs": asked.jobs}),
        "one_core": asked.one_core or cell.one_core,
        "device": asked.device,
        "threads": machine["threads"],
        "arithmetic": kernel.in_words(machine, registry.learns(cell.algo)),
        **({"identity": identity} if identity else {}),
        "admission": admission.record(),
        **({"anyway": True} if asked.anyway else {}),
        **({"studies": dict(asked.studies)} if asked.studies else {}),
        "command_line": shlex.join(asked.command_line),
    }
