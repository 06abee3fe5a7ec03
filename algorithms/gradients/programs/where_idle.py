"""The executor of workers: two processes while a core is idle and nothing keeps the second one waiting."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from erlbench.algorithms.gradients.programs.program import InTurn, Program
from erlbench.algorithms.gradients.programs.two_processes import Surroundings, TwoProcesses
from erlbench.work.workspace import Core

LONGEST = 1024  # programs in one process before two are tried again


class WhereIdle:
    """Runs each program in two processes if a core is idle when it starts, else one operation after another.

    The pool knows its own processes only. If another program has the core, the two wait for each other and are slower
    than one. So a late second process is left out for the next two programs, then four, and so on, up to `LONGEST`; a
    punctual one halves that number.
    """

    core: Core  # set before `run`

    def __init__(self, programs: Sequence[Program], surroundings: Callable[[], Surroundings]) -> None:
        self._programs, self._surroundings = programs, surroundings
        self._shared = {id(program) for program in programs if any(len(stage) > 1 for stage in program.two)}
        self._alone = InTurn()
        self._pair: TwoProcesses | None = None
        self._left, self._pause = 0, 1  # programs to run alone from now on, and after the last late one

    def run(self, program: Program) -> None:
        """Run all stages."""
        if id(program) not in self._shared or self._pauses() or not self.core.take():
            self._alone.run(program)
            return
        try:
            if self._pair is None:
                self._pair = TwoProcesses(self._programs, self._surroundings())
            self._pair.run(program)
        finally:
            self.core.give_back()
        if self._pair.late:
            self._left = self._pause = min(2 * self._pause, LONGEST)
        else:
            self._pause = max(self._pause // 2, 1)

    def close(self) -> None:
        """End the second process."""
        if self._pair is not None:
            self._pair.close()

    def _pauses(self) -> bool:
        """Whether a program runs alone because the second process was late."""
        if not self._left:
            return False
        self._left -= 1
        return True
