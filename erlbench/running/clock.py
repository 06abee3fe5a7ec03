"""The two clocks of a run: total time, and training time, from which evaluation's share is taken out."""

from __future__ import annotations

from collections.abc import Callable, Collection

from erlbench.work.tasks import Counts, Task


class Clock:
    """Seconds since the run began, over all its starts; the time between two starts does not count.

    Training time is the time during which the run was active, less the share of its busy processes that evaluated
    the reported policy: with one of two busy processes evaluating, half of the interval is taken out.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._origin = self._last = now()
        self._evaluation = 0.0
        self._share = 0.0

    @property
    def total(self) -> float:
        """Seconds of activity."""
        return self._last - self._origin

    @property
    def train(self) -> float:
        """Seconds of activity less evaluation's share."""
        return self.total - self._evaluation

    def since_start(self, moment: float) -> float:
        """A moment of the pool's clock in seconds since the run began."""
        return moment - self._origin

    def tick(self, running: Collection[Task]) -> None:
        """Account for the time since the last tick; `running` is what the processes do from now on."""
        now = self._now()
        self._evaluation += (now - self._last) * self._share
        self._last = now
        evaluating = sum(task.counts == Counts.EVALUATION for task in running)
        self._share = evaluating / len(running) if running else 0.0

    def state(self) -> dict[str, float]:
        """What `restore` needs."""
        return {"total": self.total, "evaluation": self._evaluation}

    def restore(self, state: dict[str, float]) -> None:
        """Go on as if no time had passed since `state`."""
        self._last = self._now()
        self._origin = self._last - state["total"]
        self._evaluation = state["evaluation"]
        self._share = 0.0
