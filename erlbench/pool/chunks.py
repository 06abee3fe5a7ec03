"""How many tasks go to a worker at once: several short ones, so that neither side waits for messages; one long one.

What is sent together is started by nobody else, so a chunk must be small in two ways: short against what a user or an
algorithm could notice, and a small part of what is ready (guided self-scheduling: Polychronopoulos and Kuck, "Guided
self-scheduling", IEEE Transactions on Computers 36, 1987), so that no process idles while another has tasks to spare.
"""

from __future__ import annotations

from math import inf

from erlbench.work.tasks import Result, Task

GRAIN = 0.1  # seconds that a chunk should take; an episode of a robot often takes longer than that alone
HELD = 2 * GRAIN  # that a worker keeps results at most, so that the answers of a chunk usually are one message
SHARE = 2  # chunks per process into which what is ready is divided
RATE = 0.1  # weight of the last task in the mean duration of its kind


class Durations:
    """Mean duration of the last tasks of each kind."""

    def __init__(self) -> None:
        self._seconds: dict[tuple[str, str], float] = {}  # by kind and function

    def note(self, task: Task, result: Result) -> None:
        """Learn how long a task took."""
        kind, seconds = (task.kind, task.function), result.end - result.start
        mean = self._seconds.get(kind, seconds)
        self._seconds[kind] = mean + RATE * (seconds - mean)

    def seconds(self, task: Task) -> float:
        """How long tasks like `task` take; inf before the first one has ended."""
        return self._seconds.get((task.kind, task.function), inf)


class Chunks:
    """Sizes of chunks, from the durations of tasks."""

    def __init__(self, processes: int) -> None:
        self._processes = processes
        self.durations = Durations()

    def size(self, task: Task, ready: int) -> int:
        """How many tasks like `task`, itself included, may go together when `ready` tasks are; one if unknown."""
        share = ready // (SHARE * self._processes)
        if share < 2:
            return 1
        return max(1, min(share, int(GRAIN / max(self.durations.seconds(task), 1e-6))))


def alike(first: Task, second: Task) -> bool:
    """Whether the one may be sent with the other."""
    return first.kind == second.kind and first.function == second.function and first.priority == second.priority
