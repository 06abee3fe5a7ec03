"""What crosses the border between an environment and the suite: who raised, and whether a step is what it must be.

Every loop that plays episodes comes through here, so that what is refused, and how it is named, is the same in all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from erlbench.envs.answers import EARLIER, NUMBERS, is_real, number, solved
from erlbench.errors import TaskError, error_text

if TYPE_CHECKING:
    from erlbench.envs.wrappers import Env


@dataclass(slots=True)
class Infos:
    """Values of an episode's infos: success at last and ever, and the last numbers of `keys`."""

    keys: tuple[str, ...] = ()
    success: bool | None = None  # of the last info that has it; None: no info has
    ever: bool = False
    numbers: dict[str, float] = field(default_factory=dict)

    def update(self, info: Mapping[str, Any]) -> None:
        """Take in the info of a step."""
        if EARLIER in info:
            self.success, ever = info[EARLIER]
            self.ever = self.ever or ever
        if (success := solved(info)) is not None:
            self.success = success
            self.ever = self.ever or success
        for key in self.keys:
            if key in info:
                self.numbers[key] = number(info[key])

    def values(self) -> tuple[float, ...]:
        """The numbers in the order of the keys, NaN where no info had one."""
        return tuple(self.numbers.get(key, float("nan")) for key in self.keys)


def info_values(infos: Sequence[Infos]) -> dict[str, list[Any]]:
    """The values `success` and `success_ever` (1, 0 or NaN) if any episode has them, and `info` if there are keys."""
    values: dict[str, list[Any]] = {}
    if any(entry.success is not None for entry in infos):
        values["success"] = [float("nan") if entry.success is None else int(entry.success) for entry in infos]
        values["success_ever"] = [float("nan") if entry.success is None else int(entry.ever) for entry in infos]
    if any(entry.keys for entry in infos):
        values["info"] = [entry.values() for entry in infos]
    return values


def reset(env: Env, seed: int) -> np.ndarray:
    """The first observation; an error of the environment is raised as `TaskError`."""
    try:
        outcome = env.reset(seed=seed)
    except Exception as error:
        raise raised(error, f"in reset(seed={seed})") from error
    if not isinstance(outcome, tuple) or len(outcome) != 2:
        raise TaskError(
            f"the environment's reset(seed={seed}) gave {say_kind(outcome)}, not an observation and an info"
        )
    check_observation(outcome[0], env.observation_space.shape, f"of reset(seed={seed})")
    observation: np.ndarray = outcome[0]
    return observation


def raised(error: Exception, place: str) -> TaskError:
    """The error of an exception that came out of the environment's method."""
    if isinstance(error, TaskError):  # of a wrapper of the suite, in words
        return error
    return TaskError(f"the environment raised {type(error).__name__} {place}: {error_text(error)}")


def advance(env: Env, action: Any, step: int, seed: int, infos: Infos) -> tuple[np.ndarray, float, bool, bool]:
    """The environment's step `step` (from 1): observation, reward, terminated, whether it ends; all checked.

    `infos` takes in its info.
    """
    try:
        outcome = env.step(action)
    except Exception as error:
        raise raised(error, f"at step {step} (reset seed {seed})") from error
    observation, reward, terminated, ended, info = checked_step(outcome, env.observation_space.shape, step)
    infos.update(info)
    return observation, reward, terminated, ended


def checked_step(outcome: Any, shape: tuple[int, ...] | None, step: int) -> tuple[np.ndarray, float, bool, bool, Any]:
    """The five values that a step gave: observation, reward, terminated, whether the episode ends, info.

    Raises `TaskError` for anything but an array of numbers of `shape`, a real number, two truth values and a mapping.
    """
    if not isinstance(outcome, tuple) or len(outcome) != 5:
        raise TaskError(
            f"the environment's step {step} gave {say_kind(outcome)}; it must give five values: observation, reward, "
            "terminated, truncated, info"
        )
    observation, reward, terminated, truncated, info = outcome
    check_observation(observation, shape, f"of step {step}")
    if not isinstance(info, Mapping):
        raise TaskError(f"the environment's info of step {step} is {say_kind(info)}; it must be a dictionary")
    ends = truth(terminated, "terminated", step)
    if not is_real(reward):  # an infinite one is refused elsewhere
        raise TaskError(f"the environment's reward of step {step} is {say_kind(reward)}; it must be one real number")
    return observation, float(reward), ends, truth(truncated, "truncated", step) or ends, info


def check_observation(observation: Any, shape: tuple[int, ...] | None, when: str) -> None:
    """Raise `TaskError` for an observation that is no plain array of numbers of `shape`; numpy would broadcast it."""
    array = isinstance(observation, np.ndarray) and not isinstance(observation, np.ma.MaskedArray)
    if not array or observation.shape != shape or observation.dtype.kind not in NUMBERS:
        raise TaskError(
            f"the environment's observation {when} is {say_kind(observation)}; its observation_space is an array of "
            f"numbers of shape {shape}"
        )


def truth(value: Any, name: str, step: int) -> bool:
    """`terminated` or `truncated` as a bool; also 0 and 1 and an array of one bool. `TaskError` for all else."""
    if type(value) is np.ndarray and value.dtype.kind == "b" and value.size == 1:
        value = value.item()
    if isinstance(value, (int, np.integer, np.bool_)) and value in (0, 1):
        return bool(value)
    raise TaskError(f"the environment's {name} of step {step} is {say_kind(value)}; it must be True or False")


def say_kind(value: Any) -> str:
    """What a value is, in words."""
    name = type(value).__name__
    if isinstance(value, np.ndarray):
        return f"a {name} of shape {value.shape} and dtype {value.dtype}"
    if isinstance(value, (list, tuple)):
        return f"a {name} of {len(value)} values"
    if isinstance(value, (str, float, int, np.generic)) or value is None:
        return f"{str(value)[:40]!r} ({name})" if isinstance(value, str) else f"{value} ({name})"
    return f"a {name}"
