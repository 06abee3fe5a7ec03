"""Small environments of a user: `tests.defects.environments:Partial-v0`."""

import math

import gymnasium
import numpy as np
from gymnasium.spaces import Box

LENGTH = 10  # steps of an episode
BOUNDARY = 0.05  # of the first action: an individual above it gets no number


class Line(gymnasium.Env):
    """The best action is -1 wherever it stands."""

    observation_space = Box(-1.0, 1.0, (2,), np.float32)
    action_space = Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        self.state = self.np_random.uniform(-1.0, 1.0, 2).astype(np.float32)
        return self.state.copy(), {}

    def step(self, action):
        self.steps += 1
        reward = -float((action[0] + 1.0) ** 2)
        return self.state.copy(), reward, False, False, {}


class Always(Line):
    """Every step says whether it is a success: an episode is one where the start lies on the right."""

    def step(self, action):
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward, terminated, truncated, info | {"is_success": bool(self.state[0] > 0.0)}


class Partial(Line):
    """Only a success is said, by the step that ends the episode; all other episodes end by their limit in silence."""

    def step(self, action):
        observation, reward, _, truncated, info = super().step(action)
        success = self.steps > 5 and bool(self.state[0] > 0.0)
        return observation, reward, success, truncated, info | ({"is_success": True} if success else {})


class Worst(Line):
    """The last reward of an individual whose first action is above `BOUNDARY` is `reward`."""

    reward = -1e6

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state[:] = 0.5
        return self.state.copy(), {}

    def step(self, action):
        observation, reward, *rest = super().step(action)
        if self.steps == 1:
            self.beyond = float(action[0]) > BOUNDARY
        return observation, self.reward if self.beyond and self.steps == LENGTH else reward, *rest


class NoNumber(Worst):
    """The same with NaN."""

    reward = math.nan


class NoUnicode(Line):
    """Its tenth episode ends with an error that names a file whose name is no text in UTF-8."""

    episodes = 0

    def reset(self, *, seed=None, options=None):
        self.episodes += 1
        return super().reset(seed=seed)

    def step(self, action):
        if self.episodes == 10:
            raise ValueError("the map r\udce9gion.png is broken")
        return super().step(action)


for environment in (Always, Partial, Worst, NoNumber, NoUnicode):
    gymnasium.register(f"{environment.__name__}-v0", environment, max_episode_steps=LENGTH)
