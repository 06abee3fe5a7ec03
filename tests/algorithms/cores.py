"""Second cores for tests."""

from __future__ import annotations

from erlbench.work.workspace import Workspace


class IdleCore:
    """One that is idle; or `busy`; or `changing`, not idle at every third look."""

    def __init__(self, busy: bool = False, changing: bool = False) -> None:
        self._busy, self._changing = busy, changing
        self._looks, self.taken = 0, 0

    def idle(self):
        self._looks += 1
        return not self._busy and (not self._changing or self._looks % 3 > 0)

    def take(self):
        taken = self.idle()
        self.taken += taken
        return taken

    def give_back(self):
        pass

    def held(self):
        return 0.0


def with_and_without(store, run, shares=True):
    """What `run(workspace)` returns on one core, and with each kind of second core; with those that it `shares`."""
    found = []
    for core in (None, IdleCore(), IdleCore(busy=True), IdleCore(changing=True)):
        workspace = Workspace(store)
        workspace.second_core = core
        found.append(run(workspace))
        if core is not None and shares:
            assert bool(core.taken) == any(core.idle() for _ in range(3))
        workspace.close()
    return found
