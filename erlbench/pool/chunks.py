"""How many tasks go to a worker at once: several short ones, so that neither side waits for messages; one long one.

What is sent together is started by nobody else, so a chunk must be small in two ways: short against what a user or an
algorithm could notice, and a small part of what is ready (guided self-scheduling: Polychronopoulos and Kuck, "Guided
self-scheduling", IEEE Transactions on Computers 36, 1987), so that no process idles while another has tasks to spare.
"""

from __future__ import annotations

from erlbench.tasks import Result, Task

GRAIN = 0.05  # seconds that a chunk may take; rollouts of the robots take longer, each
SHARE = 2  # chunks per process into which what is ready is divided
FADING = 0.9  # per task; one that was ten times as long as the others is forgotten after 22


class Chunks:
    """Sizes of chunks, from the longest of the recent tasks of each kind: one long task among short ones counts."""

    def __init__(self, processes: int) -> None:
        self._processes = processes
        self._longest: dict[tuple[str, str], float] = {}  # (kind, function) -> seconds

    def note(self, task: Task, result: Result) -> None:
        """Learn how long a task took."""
        kind, seconds = (task.kind, task.function), result.end - result.start
        self._longest[kind] = max(seconds, FADING * self._longest.get(kind, 0.0))

    def size(self, task: Task, ready: int) -> int:
        """How many tasks like `task`, itself included, may go together when `ready` tasks are."""
        if ready < 2 * SHARE * self._processes:
            return 1
        longest = self._longest.get((task.kind, task.function), GRAIN)
        return max(1, min(ready // (SHARE * self._processes), int(GRAIN / max(longest, 1e-6))))


def alike(first: Task, second: Task) -> bool:
    """Whether the one may be sent with the other."""
    return (first.kind, first.function, first.priority) == (second.kind, second.function, second.priority)
