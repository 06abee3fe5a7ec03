"""Environments that misbehave, registered as a user would: `tests.environments:Broken-reward-v0`."""

import os
import sys
import time
from pathlib import Path

import gymnasium
import multiprocess
import numpy as np
from gymnasium.envs.registration import register
from gymnasium.spaces import Box

from erlbench.envs.catalogue import LISTED

MUJOCO = tuple(name for name, row in LISTED.items() if row.source == "Gymnasium, MuJoCo" and "-v5" in name)


class Broken(gymnasium.Env):
    """A point on a line; in its third episode, at step 5, it goes wrong in the way that `how` names."""

    observation_space = Box(-np.inf, np.inf, (2,))
    action_space = Box(-1.0, 1.0, (1,))
    episodes = 0

    def __init__(self, how="reward"):
        self.how = how
        type(self).episodes = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        type(self).episodes += 1
        self.steps = 0
        return self.np_random.normal(size=2), {}

    def step(self, action):
        self.steps += 1
        bad = self.steps == 5 and type(self).episodes > 2
        if bad and self.how == "raise":
            raise RuntimeError("the motor is on fire")
        observation = self.np_random.normal(size=2)
        reward = float("nan") if bad and self.how == "reward" else -float(np.square(observation).sum())
        if bad and self.how == "observation-1e39":
            observation[0] = 1e39
        if self.how == "list":
            observation = list(observation)
        return observation, reward, False, False, {}


class Stuck(Broken):
    """Sleeps for half a minute in its twelfth step, if STUCK names a file to make before.

    With STUCK_IN=making it does so when a worker makes it.
    """

    def __init__(self):
        super().__init__("none")
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


class Drifting(Broken):
    """Observations that depend on how often it was reset."""

    def step(self, action):
        observation, *rest = super().step(action)
        return observation + type(self).episodes, *rest


class Sleeping(gymnasium.Env):
    """Episodes of `mean_length` steps, or of geometric lengths with that mean, whose steps take time."""

    observation_space = Box(-np.inf, np.inf, (17,), np.float32)
    action_space = Box(-1.0, 1.0, (6,), np.float32)

    def __init__(self, mean_length: int = 20, seconds_per_step: float = 0.005, geometric: bool = False):
        self.mean_length, self.seconds_per_step, self.geometric = mean_length, seconds_per_step, geometric

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.length = int(self.np_random.geometric(1 / self.mean_length)) if self.geometric else self.mean_length
        self.observation = self.np_random.standard_normal(17, dtype=np.float32)
        self.steps, self.start = 0, time.perf_counter()
        return self.observation.copy(), {}

    def step(self, action):
        self.steps += 1
        time.sleep(max(0.0, self.start + self.steps * self.seconds_per_step - time.perf_counter()))
        reward = 1.0 - float(np.mean(np.square(action)))
        return self.observation.copy(), reward, self.steps >= self.length, False, {}


for how in ("reward", "raise", "observation-1e39", "list"):
    register(f"Broken-{how}-v0", "tests.environments:Broken", max_episode_steps=20, kwargs={"how": how})
register("Sleeping-v0", "tests.environments:Sleeping", max_episode_steps=1000)
for cls in (Stuck, Drifting):
    register(f"{cls.__name__}-v0", f"tests.environments:{cls.__name__}", max_episode_steps=20)
