"""Programs: an update as operations on buffers that stay, in stages; and the executor that runs one in this process.

A lane is a sequence of operations. A stage is one lane or several, which may run at the same time. The stages of a
program run one after another. All arguments of an operation are bound when the program is built: it allocates nothing,
branches on no data and waits for no device. So a program can be recorded once and replayed. Learning rates, discount
and tau are read from memory: a recording goes on with those that are written there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

Operation = Callable[[], object]
Lane = list[Operation]
Stage = list[Lane]


@dataclass(frozen=True)
class Program:
    """The stages of one update for one core and for two: on the same buffers, with the same outcome in every bit."""

    one: list[Stage]
    two: list[Stage]

    @classmethod
    def build(cls, stages: Callable[[int], list[Stage]]) -> Program:
        """`stages(cores)` gives the stages for so many cores."""
        return cls(stages(1), stages(2))


class Executor(Protocol):
    """Runs programs; the only place that knows how."""

    def run(self, program: Program) -> None:
        """Run all stages; return when all have ended, or on a GPU when all are in its queue."""


class InTurn:
    """One operation after another, in this process; on a GPU each is put into its queue (eager)."""

    def run(self, program: Program) -> None:
        for stage in program.one:
            for lane in stage:
                for operation in lane:
                    operation()


def alone(*operations: Operation) -> Stage:
    """A stage with one lane."""
    return [list(operations)]
