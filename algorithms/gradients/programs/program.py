"""Programs: an update as a list of operations on buffers that stay, and the executor that runs one in this process.

All arguments of an operation are bound when the program is built: it allocates nothing, branches on no data and waits
for no device. So a program can be recorded once and replayed. Learning rates, discount and tau are read from memory: a
recording goes on with those that are written there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

Operation = Callable[[], object]
Program = list[Operation]  # also a part of one


class Executor(Protocol):
    """Runs programs; the only place that knows how."""

    def run(self, program: Program) -> None:
        """Run all operations; return when all have ended, or on a GPU when all are in its queue."""


class InTurn:
    """One operation after another, in this process; on a GPU each is put into its queue (eager)."""

    def run(self, program: Program) -> None:
        for operation in program:
            operation()
