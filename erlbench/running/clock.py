"""The two clocks of a run: total time, and training time, which ends with the training."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


class Clock:
    """Seconds since the training began, over all starts of a run; the time between two starts does not count.

    Nothing is ever taken out of the training time.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._origin = self._last = now()
        self._trained: float | None = None
        self._paused = 0.0  # seconds of the training

    @property
    def total(self) -> float:
        """Seconds of activity."""
        return self._last - self._origin

    @property
    def train(self) -> float:
        """Seconds of activity until the training ended."""
        return self.total if self._trained is None else self._trained

    @property
    def paused(self) -> float:
        """Seconds of the training time during which the whole run stood still."""
        return self._paused

    @property
    def ended(self) -> bool:
        """Whether the training is over."""
        return self._trained is not None

    def since_start(self, moment: float) -> float:
        """A moment of the pool's clock in seconds since the training began."""
        return moment - self._origin

    def start(self) -> None:
        """The workers are there: the time begins now."""
        self._origin = self._last = self._now()

    def pause(self, begin: float, end: float) -> None:
        """The run stood still between these moments of the pool's clock; what lies before the start does not count."""
        if not self.ended:
            self._paused += max(0.0, end - max(begin, self._origin))

    def tick(self) -> None:
        """Look at the clock."""
        self._last = self._now()

    def end_training(self) -> None:
        """The last result of the training has been taken in; the total time goes on."""
        self.tick()
        self._trained = self.train

    def state(self) -> dict[str, Any]:
        """What `restore` needs."""
        return {"total": self.total, "trained": self._trained, "paused": self._paused}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on as if no time had passed since `state`."""
        self._last = self._now()
        self._origin = self._last - state["total"]
        self._trained = state["trained"]
        self._paused = state["paused"]
