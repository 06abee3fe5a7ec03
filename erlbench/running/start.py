"""What meta.json records of a start, and the journal of a study's plan with it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from erlbench.algorithms import registry
from erlbench.experiment.cells import Cell, RunOptions
from erlbench.experiment.plan import FILE as PLAN
from erlbench.machine import kernel
from erlbench.machine.threads import threads_of_libraries
from erlbench.pool import Pool
from erlbench.running.checkpoint import FORMAT
from erlbench.work.admission import Admission


def start_of(
    cell: Cell,
    asked: RunOptions,
    machine: Mapping[str, Any],
    pool: Pool,
    identity: Mapping[str, Any] | None,
    admission: Admission,
) -> dict[str, Any]:
    """The start of a cell on `machine`; under a plan it is appended to the plan's journal."""
    command = shlex.join(asked.command_line)
    machine = {**machine, "threads": threads_of_libraries()}
    start = {
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
        **({"studies": list(asked.studies)} if asked.studies else {}),
        "command_line": command,
    }
    return start | _in_journal(cell, asked, machine, identity, command)


def _in_journal(
    cell: Cell, asked: RunOptions, machine: Mapping[str, Any], identity: Mapping[str, Any] | None, command: str
) -> dict[str, Any]:
    """The plan's hash and the ID of the new line in its journal; nothing without a plan."""
    if not (cell.out / PLAN).exists():
        return {}
    from erlbench.experiment import journal
    from erlbench.experiment.plan_file import plan_hash

    if not (digest := plan_hash(cell.out)):
        return {}
    entry = journal.append(
        cell.out, journal.START, env=cell.env, name=cell.name, seed=cell.seed, plan=digest,
        folder=str(cell.directory.relative_to(cell.out)), kernel=kernel.in_words(machine),
        identity=journal.fingerprint(identity), commit=machine.get("commit", ""), command=command, forced=asked.force,
    )  # fmt: skip
    return {"study_plan": digest, "journal": entry}
