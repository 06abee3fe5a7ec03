"""The executor of a GPU: a program becomes a CUDA graph, which starts all of its operations at once."""

from __future__ import annotations

import torch

from erlbench.algorithms.gradients.programs.program import InTurn, Program


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
