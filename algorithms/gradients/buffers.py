"""What a worker keeps between gradient tasks: buffers, and a second process that works on them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, Protocol, TypeVar

from erlbench.algorithms.gradients.learners import arithmetic
from erlbench.algorithms.gradients.side_by_side import SharedMemory, Together, TwoProcesses, Work, in_turn
from erlbench.work.workspace import Core, Workspace

Buffers = TypeVar("Buffers")


def scratch(workspace: Workspace, kind: type[Buffers], *shapes: Any) -> Buffers:
    """The workspace's buffers `kind(*shapes, device)`; contents never outlive a task."""
    name = (kind, *shapes)
    if name not in workspace.scratch:
        make: Any = kind
        with SharedMemory() if workspace.device == "cpu" else nullcontext():
            workspace.scratch[name] = make(*shapes, workspace.device)
    found: Buffers = workspace.scratch[name]
    return found


class Shareable(Protocol):
    """What two processes can share."""

    @property
    def works(self) -> Sequence[Work]:
        """All that a second process may be asked for."""


class WhereIdle:
    """Works run in two processes while there is an idle core, else one after the other."""

    def __init__(self, works: Sequence[Work], core: Core) -> None:
        self._works, self._core = works, core
        self._pair: TwoProcesses | None = None

    @property
    def processes(self) -> int:
        """How many there would be now."""
        return 1 + self._core.idle()

    def __call__(self, works: Sequence[Work]) -> None:
        if len(works) == 1 or not self._core.take():
            in_turn(works)
            return
        try:
            if self._pair is None:
                self._pair = TwoProcesses(self._works, arithmetic())
            self._pair(works)
        finally:
            self._core.give_back()

    def close(self) -> None:
        """End the second process."""
        if self._pair is not None:
            self._pair.close()


def side_by_side(workspace: Workspace, buffers: Shareable) -> Together:
    """How the works of `buffers`, which must be one of the workspace's `scratch`, run: on a CPU by `WhereIdle`."""
    if workspace.second_core is None or workspace.device != "cpu":
        return in_turn
    name = WhereIdle, id(buffers)
    if name not in workspace.scratch:
        workspace.scratch[name] = WhereIdle(buffers.works, workspace.second_core)
    found: WhereIdle = workspace.scratch[name]
    return found
