"""Programs: an update as a list of operations on buffers that stay, and the executors that run one.

All arguments of an operation are bound when the program is built: it allocates nothing, branches on no data and waits
for no device. So a program can be recorded once and replayed.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

Operation = Callable[[], object]
Program = list[Operation]  # also a part of one


class InTurn:
    """One operation after another, in this process; on a GPU each is put into its queue (eager)."""

    def run(self, program: Program) -> None:
        """Run all operations; return when all have ended, or on a GPU when all are in its queue."""
        for operation in program:
            operation()


class CudaGraphs:
    """Runs a program's operations one after another the first time, records them the second time, and then replays.

    A small network's operation takes a GPU less time than Python needs to start it. A replay starts the whole program
    with one call. Libraries allocate their memory in the first run, as a recording may not.
    """

    def __init__(self, device: str) -> None:
        self._device = torch.device(device)
        self._in_turn = InTurn()
        self._graphs: dict[int, torch.cuda.CUDAGraph | None] = {}  # by program, which its learner keeps

    def run(self, program: Program) -> None:
        """Put all operations into the GPU's queue."""
        name = id(program)
        if name not in self._graphs:
            self._graphs[name] = None
            self._in_turn.run(program)
            return
        graph = self._graphs[name]
        if graph is None:
            graph = self._graphs[name] = torch.cuda.CUDAGraph()
            with torch.cuda.device(self._device), torch.cuda.graph(graph):
                self._in_turn.run(program)  # only recorded
        graph.replay()


Executor = InTurn | CudaGraphs
