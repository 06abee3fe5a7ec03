"""How much of what a folder asks for is played: settings of a folder may say any number of steps and frames."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from erlbench.envs import catalogue
from erlbench.envs.registry import Problem, problem
from erlbench.errors import ErlbenchError, UsageError
from erlbench.pool.clean import ask_clean_process

STEPS = 20_000_000  # of all evaluations of a run
SECONDS, STEPS_A_SECOND = 60.0, 100.0  # of a run, and more for its steps
MAKING = 120.0  # seconds to make an environment
SLOWER = 4.0  # than the machine of a run, one that runs it again
LONGEST = 6 * 3600.0  # seconds of a second run, whatever the first one says of itself
WORK = ("timesteps", "fitness_timesteps", "evaluation_timesteps", "replayed_timesteps", "critic_updates",
        "actor_updates")  # columns of eval.csv that count it  # fmt: skip


class OverBudget(ErlbenchError):
    """More than the budget would be needed."""


@dataclass
class PlayingBudget:
    """Steps, and seconds from its making on, in which the policies of one run are played."""

    steps: int
    seconds: float | None = None  # None: what so many steps may take
    _begun: float = field(default_factory=time.monotonic, init=False)

    def __post_init__(self) -> None:
        if self.steps > STEPS:
            raise OverBudget(f"it has {self.steps:,} steps, more than the budget of {STEPS:,}")
        self.seconds = SECONDS + self.steps / STEPS_A_SECOND if self.seconds is None else self.seconds

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return (self.seconds or 0.0) - (time.monotonic() - self._begun)

    def used_up(self) -> OverBudget:
        """The error of a run that takes longer."""
        return OverBudget(
            f"no end in the budget of {self.seconds:,.0f} s for {self.steps:,} steps; --seconds gives more"
        )


def seconds_again(row: Mapping[Any, Any], before: Mapping[Any, Any] | None = None) -> float:
    """Seconds to run a run again up to the evaluation `row`, from its start or from the evaluation `before`.

    By its total time and by its steps and updates, whichever is more, since total time may be modelled; at most
    `LONGEST`.
    """

    def counted(name: str) -> float:
        number = float(row[name]) - float(before[name] if before else 0)
        return number if math.isfinite(number) else 0.0

    work = sum(map(counted, WORK)) / STEPS_A_SECOND
    return min(LONGEST, SECONDS + max(0.0, work, SLOWER * counted("total_time_s")))


def is_bounded(env: str, settings: Mapping[str, Any]) -> bool:
    """Whether a step of an environment ends in any case: one that is listed, with the settings that it has there.

    Its steps can be played in this process, which saves a worker for each run.
    """
    return not settings and catalogue.split_preset(env)[0] in catalogue.LISTED


def bounded_problem(env: str, settings: dict[str, Any]) -> Problem:
    """What an environment of a folder is, found out in a process that is ended when it takes too long."""
    found = _found(env, _Hashed(settings))
    if isinstance(found, Problem):
        return found
    raise UsageError(found)


class _Hashed(dict[str, Any]):
    """A dict as part of a key of a cache."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(repr(sorted(self.items())))


@lru_cache(256)
def _found(env: str, settings: _Hashed) -> Problem | str:
    found, failure = ask_clean_process(_problem_or_reason, env, dict(settings), limit=MAKING)
    return f"environment '{env}' cannot be made here: {failure}" if failure else found


def _problem_or_reason(say: Callable[[str], None], env: str, settings: dict[str, Any]) -> Problem | str:
    say("making it")
    try:
        return problem(env, settings)
    except ErlbenchError as error:
        return str(error)
