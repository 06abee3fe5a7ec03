"""Environments whose episodes end by time limits from all places: the id, the factory, wrappers, the class itself."""

import gymnasium
import numpy as np
from gymnasium.envs.registration import WrapperSpec, register
from gymnasium.spaces import Box
from gymnasium.wrappers import TimeLimit


class Corridor(gymnasium.Env):
    """Its episodes never end."""

    observation_space = Box(-1.0, 1.0, (1,), np.float32)
    action_space = Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.np_random.uniform(-1, 1, 1).astype(np.float32), {}

    def step(self, action):
        observation = self.np_random.uniform(-1, 1, 1).astype(np.float32)
        return observation, float(action[0]), False, False, {}


class Fourfold(gymnasium.Wrapper, gymnasium.utils.RecordConstructorArgs):
    """Takes each action four times."""

    def __init__(self, env):
        gymnasium.utils.RecordConstructorArgs.__init__(self)
        super().__init__(env)

    def step(self, action):
        for _ in range(4):
            *step, truncated, info = self.env.step(action)
            if truncated:
                break
        return *step, truncated, info


class Terminating(TimeLimit):
    """A time limit that is part of the task."""

    def step(self, action):
        *step, terminated, truncated, info = super().step(action)
        return *step, terminated or truncated, False, info


def fifty():
    return TimeLimit(Corridor(), 50)


class Own(Corridor):
    """Ends its episodes by an attribute of its constructor."""

    def __init__(self, limit=70):
        self._max_episode_length = limit


IDS = {
    "Plain": (Corridor, 100, {}),
    "Endless": (Corridor, None, {}),
    "Factory": (fifty, 100, {}),
    "FactoryAlone": (fifty, None, {}),
    "Made": (lambda: gymnasium.make("Pendulum-v1"), 300, {}),
    "Within": (lambda: Fourfold(fifty()), 100, {}),
    "WithinAlone": (lambda: Fourfold(fifty()), None, {}),
    "Terminating": (lambda: Terminating(Corridor(), 50), 100, {}),
    "Around": (Corridor, 100, {"additional_wrappers": (TimeLimit.wrapper_spec(max_episode_steps=30),)}),
    "Fourfold": (Corridor, 100, {"additional_wrappers": (WrapperSpec("Fourfold", "tests.limited:Fourfold", {}),)}),
    "Unordered": (fifty, 100, {"order_enforce": False}),
}
for name, (factory, limit, more) in IDS.items():
    register(f"Limited{name}-v0", entry_point=factory, max_episode_steps=limit, **more)
register("LimitedOwn-v0", entry_point=Own)
