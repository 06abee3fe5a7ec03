"""Environments that misbehave, registered as a user would: `tests.environments:Broken-reward-v0`."""

import os
import sys
import time
from pathlib import Path

import multiprocess
from gymnasium.envs.registration import register

from tests.faults import LIMIT, Line


class Broken(Line):
    """In its third episode, at step 5, it goes wrong in the way that `how` names."""

    def __init__(self, how="reward"):
        super().__init__()
        self.how = how

    def step(self, action):
        observation, reward, *rest = super().step(action)
        bad = self.how if self.steps == 5 and self.episodes > 2 else ""
        if bad == "raise":
            raise RuntimeError("the motor is on fire")
        if bad == "observation-1e39":
            observation[0] = 1e39
        if self.how == "list":
            observation = list(observation)
        return observation, float("nan") if bad == "reward" else reward, *rest


class Stuck(Line):
    """Sleeps for half a minute in its twelfth step, if STUCK names a file to make before.

    With STUCK_IN=making it does so when a worker makes it.
    """

    def __init__(self):
        super().__init__()
        self.count = 0
        if os.environ.get("STUCK_IN") == "making" and multiprocess.parent_process() is not None:
            self._sleep()

    def step(self, action):
        self.count += 1
        if self.count == 12 and os.environ.get("STUCK_IN") == "step":
            self._sleep()
        return super().step(action)

    def _sleep(self):
        if multiprocess.parent_process() is None and "erlbench.running.loop" not in sys.modules:
            return  # it is only tried
        Path(os.environ["STUCK"]).touch()
        time.sleep(30.0)


class Drifting(Line):
    """Observations that depend on how often it was reset."""

    def observe(self):
        return super().observe() + self.episodes


class Sleeping(Line, limit=1000):
    """Episodes of `mean_length` steps, or of geometric lengths with that mean, whose steps take time."""

    def __init__(self, mean_length: int = 20, seconds_per_step: float = 0.005, geometric: bool = False):
        super().__init__()
        self.mean_length, self.seconds_per_step, self.geometric = mean_length, seconds_per_step, geometric

    def start(self):
        self.length = int(self.np_random.geometric(1 / self.mean_length)) if self.geometric else self.mean_length
        self.begun = time.perf_counter()
        return super().start()

    def step(self, action):
        observation, reward, *_ = super().step(action)
        time.sleep(max(0.0, self.begun + self.steps * self.seconds_per_step - time.perf_counter()))
        return observation, reward, self.steps >= self.length, False, {}


for how in ("reward", "raise", "observation-1e39", "list"):
    register(f"Broken-{how}-v0", "tests.environments:Broken", max_episode_steps=LIMIT, kwargs={"how": how})
