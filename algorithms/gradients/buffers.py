"""What a worker keeps between gradient tasks: buffers, and a second process that works on them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, Protocol, TypeVar

from erlbench.algorithms.gradients.learners import arithmetic
from erlbench.algorithms.gradients.side_by_side import SharedMemory, Together, TwoProcesses, Work, can_fork, in_turn
from erlbench.workspace import Workspace

Buffers = TypeVar("Buffers")


def scratch(workspace: Workspace, kind: type[Buffers], *shapes: Any) -> Buffers:
    """The workspace's buffers `kind(*shapes, device)`; contents never outlive a task."""
    name = (kind, *shapes)
    if name not in workspace.scratch:
        make: Any = kind
        with SharedMemory() if _can_share(workspace) else nullcontext():
            workspace.scratch[name] = make(*shapes, workspace.device)
    found: Buffers = workspace.scratch[name]
    return found


class Shareable(Protocol):
    """What two processes can share."""

    @property
    def works(self) -> Sequence[Work]:
        """All that a second process may be asked for."""


def side_by_side(workspace: Workspace, buffers: Shareable) -> Together:
    """How the works of `buffers` run: on a CPU in two processes if the pool has left two cores to the task.

    `buffers` must be one of the workspace's `scratch`.
    """
    if workspace.cores < 2 or not _can_share(workspace):
        return in_turn
    name = TwoProcesses, id(buffers)
    if name not in workspace.scratch:
        workspace.scratch[name] = TwoProcesses(buffers.works, arithmetic())
    found: TwoProcesses = workspace.scratch[name]
    return found


def _can_share(workspace: Workspace) -> bool:
    return workspace.device == "cpu" and can_fork()
