"""Environments with one fault or one peculiarity each, registered as users do: `tests.faults:Global-v0`."""

import ctypes
import os
import random
import time

import gymnasium
import numpy as np
from gymnasium.envs.registration import WrapperSpec, register
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, Sequence, Text, Tuple

LIMIT, SHORT = 20, 10  # steps of episodes


class Line(gymnasium.Env):
    """A point on a line that actions push; its seed decides all. Others change where it starts and what it pays.

    Each is registered by its name, with a limit.
    """

    observation_space = Box(-np.inf, np.inf, (2,), np.float64)
    action_space = Box(-1.0, 1.0, (1,), np.float32)

    def __init_subclass__(cls, limit=LIMIT):
        super().__init_subclass__()
        register(f"{cls.__name__}-v0", f"{cls.__module__}:{cls.__name__}", max_episode_steps=limit)

    def __init__(self):
        self.episodes = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.episodes += 1
        self.steps, self.x = 0, self.start()
        return self.observe(), {}

    def start(self):
        return self.np_random.normal(size=2)

    def observe(self):
        return self.x.copy()

    def reward(self):
        return -float(np.square(self.x).sum())

    def step(self, action):
        self.steps += 1
        self.x = self.x + 0.1 * float(np.sum(action))
        return self.observe(), self.reward(), False, False, {}


class Global(Line):
    """Starts where numpy's global generator says."""

    def start(self):
        return np.random.normal(size=2)  # noqa: NPY002


class Noisy(Line):
    """Its rewards have noise of Python's generator."""

    def reward(self):
        return super().reward() + random.random()


class Ignoring(Line):
    """Ignores the seed of its reset; its own generator begins with the object."""

    def __init__(self):
        super().__init__()
        self.own = np.random.default_rng(42)

    def start(self):
        return self.own.normal(size=2)


class Curriculum(Line):
    """Gets harder with each episode of an object."""

    def reward(self):
        return super().reward() * self.episodes


class Wearing(Line):
    """Differs from its twelfth episode on, as worlds do whose memory grows."""

    def reward(self):
        return super().reward() + (self.episodes > 11)


class Settling(Line):
    """Its first episode differs from all others, as a simulator's may that keeps contacts."""

    def reward(self):
        return super().reward() + (self.episodes == 1)


class Ageing(Line):
    """Depends on how many objects of its class there have been."""

    made = 0

    def __init__(self):
        super().__init__()
        type(self).made += 1
        self.age = type(self).made

    def reward(self):
        return super().reward() + self.age


class Constant(Line):
    """All seeds give one start."""

    def start(self):
        return np.ones(2)


class Crashes(Line):
    """Ends its process where `where` says."""

    def __init__(self, where="constructor"):
        super().__init__()
        self.where = where
        if where == "constructor":
            ctypes.string_at(0)

    def reset(self, **arguments):
        if self.where == "reset":
            os._exit(3)
        return super().reset(**arguments)

    def step(self, action):
        if self.where == "step":
            os.abort()
        return super().step(action)

    def close(self):
        if self.where == "close":
            time.sleep(1000)


class InPlace(Line):
    """Changes the action that it is given."""

    def step(self, action):
        action *= 2.0
        return super().step(action)


class Silent(Line):
    """Raises without a word."""

    def step(self, action):
        raise AssertionError


class Whole(Line):
    """Its actions are whole numbers."""

    action_space = Box(0, 5, (2,), np.int32)


class Boundless(Line):
    """Its bounds are the largest numbers of float32, whose differences are infinite."""

    action_space = Box(-np.finfo(np.float32).max, np.finfo(np.float32).max, (1,))


class Exact(Line):
    """Takes only actions that its space of float64 contains; its bound is no float32."""

    action_space = Box(-0.1, 0.1, (1,), np.float64)

    def step(self, action):
        assert self.action_space.contains(action), action
        return super().step(action)


class FromOne(Line):
    """Numbers its actions from 1."""

    action_space = Discrete(2, start=1)


class Goal(Line):
    """Observes a Dict with parts of all kinds, and says whether it has solved its task."""

    observation_space = Dict(
        {
            "state": Box(-np.inf, np.inf, (2,), np.float64),
            "goal": Box(-1, 1, (1, 2), np.float32),
            "mode": Discrete(3, start=1),
            "mission": Text(8),
            "more": Tuple((MultiBinary(2), Box(0, 1, ()))),
        }
    )

    def observe(self):
        return {
            "state": self.x.copy(),
            "goal": np.zeros((1, 2), np.float32),
            "mode": 2,
            "mission": "go",
            "more": (np.array([1, 0]), np.float32(0.5)),
        }

    def step(self, action):
        *step, _ = super().step(action)
        return *step, {"is_success": self.steps == 4, "steps": self.steps - 1, "name": "goal"}


class Missing(Goal):
    """Leaves a part of its observation out."""

    def observe(self):
        return {"state": self.x.copy()}


class Image(Line):
    """Observes pictures."""

    observation_space = Box(0, 255, (96, 96, 3), np.uint8)


class Growing(Line):
    """Observes sequences of any length."""

    observation_space = Sequence(Box(0, 1, (1,)))


class Answers(Line):
    """Its fourth step, or each if `early`, gives what `how` says."""

    def __init__(self, how="usual", early=True):
        super().__init__()
        self.how, self.early = how, early

    def step(self, action):
        step = observation, reward, *_ = super().step(action)
        if self.steps != 4 and not self.early:
            return step
        changed = {  # by their places
            "vector reward": {1: np.array([reward, 0.0])},
            "array of one": {1: np.array([reward])},
            "no reward": {1: None},
            "text as reward": {1: "1.0"},
            "complex reward": {1: 1j},
            "nan as end": {2: float("nan")},
            "text as end": {2: "False"},
            "none as cut": {3: None},
            "masked": {0: np.ma.array(observation, mask=[True, False])},
            "texts": {0: np.array(["1", "2"])},
            "nan as reward": {1: float("nan")},
            "huge": {0: np.full_like(observation, 1e39)},
            "one number": {0: np.float64(1.0)},
            "list as info": {4: [1]},
            "numpy's": {1: np.float32(reward), 2: np.bool_(False), 3: np.array([False])},
            "whole numbers": {1: 1, 2: 0, 3: 0},
        }
        given = tuple(changed.get(self.how, {}).get(place, value) for place, value in enumerate(step))
        return given[:4] if self.how == "four values" else given


class Typed(Line):
    """Settings with annotations, and without."""

    def __init__(
        self,
        body: "int | str" = 1,
        weights: tuple[float, ...] = (0.1,),
        pair: tuple[float, float] = (0.0, 1.0),
        camera: str | None = None,
        plain=True,
        count: int = 3,
    ):
        super().__init__()
        self.given = body, weights, pair, camera, plain, count


class Always(Line, limit=SHORT):
    """Every step says whether it is a success: the point lies on the right."""

    def step(self, action):
        *step, _ = super().step(action)
        return *step, {"is_success": bool(self.x[0] > 0.0)}


class Partial(Line, limit=SHORT):
    """Only a success is said, by the step that ends the episode; all other episodes end by their limit in silence."""

    def step(self, action):
        observation, reward, *_ = super().step(action)
        success = self.steps > 5 and bool(self.x[0] > 0.0)
        return observation, reward, success, False, {"is_success": True} if success else {}


class Worst(Line, limit=SHORT):
    """All episodes start at one point; the last reward is `lowest` if the first action is above 0.05."""

    lowest = -1e6

    def start(self):
        return np.full(2, 0.5)

    def reward(self):
        return self.lowest if self.beyond and self.steps == SHORT else super().reward()

    def step(self, action):
        if not self.steps:
            self.beyond = float(action[0]) > 0.05
        return super().step(action)


class NoNumber(Worst, limit=SHORT):
    """The same with NaN."""

    lowest = float("nan")


class NoUnicode(Line, limit=SHORT):
    """Its tenth episode ends with an error that names a file whose name is no text in UTF-8."""

    def step(self, action):
        if self.episodes == 10:
            raise ValueError("the map r\udce9gion.png is broken")
        return super().step(action)


register("Line-v0", f"{__name__}:Line", max_episode_steps=LIMIT)
for place in ("constructor", "reset", "step", "close"):
    register(f"Crashes-{place}-v0", f"{__name__}:Crashes", max_episode_steps=LIMIT, kwargs={"where": place})
for name in ("NormalizeReward", "NormalizeObservation"):
    wrapper = WrapperSpec(name, f"gymnasium.wrappers:{name}", {})
    register(f"{name}-v0", f"{__name__}:Line", max_episode_steps=LIMIT, additional_wrappers=(wrapper,))
