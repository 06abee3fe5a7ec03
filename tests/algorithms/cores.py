"""Second cores for tests."""

from __future__ import annotations


class IdleCore:
    """One that is idle; or `busy`; or `changing`, idle at every third look."""

    def __init__(self, busy: bool = False, changing: bool = False) -> None:
        self._busy, self._changing = busy, changing
        self._looks, self.taken = 0, 0

    def idle(self):
        self._looks += 1
        return not self._busy and (not self._changing or self._looks % 3 == 0)

    def take(self):
        taken = self.idle()
        self.taken += taken
        return taken

    def give_back(self):
        pass
