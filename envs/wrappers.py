"""Wrappers of an environment where its preset or its settings ask for them; nothing else is wrapped."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import gymnasium
import numpy as np
from gymnasium.spaces import Box

from erlbench.envs.answers import EARLIER, is_real, solved

Step = tuple[Any, float, bool, bool, dict[str, Any]]
Env = gymnasium.Env[Any, Any]


class TerminalReward(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Adds `bonus` to the reward of the step that terminates an episode, as Gymnasium's MuJoCo v1 to v4 did."""

    def __init__(self, env: Env, bonus: float) -> None:
        super().__init__(env)
        self.bonus = bonus

    def step(self, action: np.ndarray) -> Step:
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, float(reward) + self.bonus * terminated, terminated, truncated, info


class RewardBeforeStep(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Pays for the state before the step, as Gymnasium's Reacher and Pusher did until version 4."""

    def step(self, action: np.ndarray) -> Step:
        bare: Any = self.env.unwrapped
        reward, _ = bare._get_rew(action)
        observation, _, terminated, truncated, info = self.env.step(action)
        return observation, reward, terminated, truncated, info


class InsertZeros(gymnasium.ObservationWrapper[Any, Any, Any]):
    """Inserts zeros: `zeros` maps an index of the environment's vector to the number of zeros before it."""

    def __init__(self, env: Env, zeros: Mapping[int, int]) -> None:
        super().__init__(env)
        space = env.observation_space
        assert isinstance(space, Box)
        places = np.repeat(list(zeros), list(zeros.values()))
        low, high = (np.insert(end, places, 0.0) for end in (space.low, space.high))
        self.observation_space = Box(low, high, dtype=space.dtype.type)
        self._own = np.flatnonzero(np.insert(np.ones(space.shape[0], bool), places, False))

    def observation(self, observation: np.ndarray) -> np.ndarray:
        with_zeros = np.zeros(self.observation_space.shape or (), observation.dtype)
        with_zeros[self._own] = observation
        return with_zeros


class RepeatAction(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Takes each action `times` times, or until the episode ends; the rewards are summed.

    The info is the last one, with `EARLIER` where an earlier one tells whether the task is solved.
    """

    def __init__(self, env: Env, times: int) -> None:
        super().__init__(env)
        self.times = times

    def step(self, action: np.ndarray) -> Step:
        total, earlier = 0.0, None
        for left in reversed(range(self.times)):
            outcome: Any = self.env.step(action)
            if not (isinstance(outcome, tuple) and len(outcome) == 5 and is_real(outcome[1])):
                return cast(Step, outcome)  # refused as any other step
            observation, reward, terminated, truncated, info = outcome
            total += float(reward)
            if terminated or truncated or not left or not isinstance(info, Mapping):
                break
            if (success := solved(info)) is not None:
                earlier = success, success or (earlier is not None and earlier[1])
        if earlier is not None and isinstance(info, Mapping):
            info = {**info, EARLIER: earlier}
        return observation, total, terminated, truncated, info


class TypedAction(gymnasium.ActionWrapper[Any, Any, Any]):
    """Gives actions in the dtype of the action space; a bound of float32 becomes the bound itself."""

    def __init__(self, env: Env) -> None:
        super().__init__(env)
        space = env.action_space
        assert isinstance(space, Box)
        self._dtype, self._ends = space.dtype, (space.low, space.high)
        self._rounded = [end.astype(np.float32) for end in self._ends]

    def action(self, action: np.ndarray) -> np.ndarray:
        typed = action.astype(self._dtype)
        for end, rounded in zip(self._ends, self._rounded, strict=True):
            np.copyto(typed, end, where=action == rounded)
        return typed


class ResetTwice(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Resets twice with the same seed, for environments whose first reset leaves another state than later ones."""

    def reset(self, **arguments: Any) -> tuple[Any, dict[str, Any]]:
        self.env.reset(**arguments)
        return self.env.reset(**arguments)


class FreshObject(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Has `make` make the environment anew for each episode."""

    def __init__(self, make: Callable[[], Env]) -> None:
        super().__init__(make())
        self._make, self._used = make, False

    def reset(self, **arguments: Any) -> tuple[Any, dict[str, Any]]:
        if self._used:
            self.env.close()
            self.env = self._make()
        self._used = True
        return self.env.reset(**arguments)


class ImageVector(gymnasium.ObservationWrapper[Any, Any, Any]):
    """Observes an image as a vector of bytes; `image` is its shape, channels first.

    The environment's images are bytes with the channels first, or planes of truth values with them last.
    """

    def __init__(self, env: Env) -> None:
        super().__init__(env)
        space = env.observation_space
        assert isinstance(space, Box)
        self._planes = space.dtype == np.bool_
        self.image = (space.shape[-1], *space.shape[:-1]) if self._planes else space.shape
        self.observation_space = Box(0, 255, (int(np.prod(space.shape)),), np.uint8)

    def observation(self, image: np.ndarray) -> np.ndarray:
        return (np.uint8(255) * image.transpose(2, 0, 1)).ravel() if self._planes else image.ravel()
