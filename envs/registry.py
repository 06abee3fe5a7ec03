"""The registry that turns an environment id into an environment, and checks that the suite can run it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker, TimeLimit

from erlbench.errors import UsageError, nearest

MUJOCO = (
    "Ant-v5",
    "HalfCheetah-v5",
    "Hopper-v5",
    "Humanoid-v5",
    "HumanoidStandup-v5",
    "InvertedDoublePendulum-v5",
    "InvertedPendulum-v5",
    "Pusher-v5",
    "Reacher-v5",
    "Swimmer-v5",
    "Walker2d-v5",
)
CLASSIC = ("Pendulum-v1",)


@dataclass(frozen=True)
class EnvSpec:
    """An environment as plain values: what a worker needs to make it."""

    id: str
    max_episode_steps: int
    kwargs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Problem:
    """A control task as the algorithms see it."""

    env: EnvSpec
    observation_size: int
    action_size: int  # dimensions; the number of actions where they are discrete
    action_low: tuple[float, ...]  # () where they are discrete
    action_high: tuple[float, ...]
    discrete: bool = False


def ids() -> list[str]:
    """The environments that the suite lists; any other Gymnasium id or `module:Id` can be run too."""
    return sorted(MUJOCO + CLASSIC)


def make(env_id: str, **kwargs: Any) -> tuple[gymnasium.Env[Any, Any], int]:
    """The environment without Gymnasium's outer bookkeeping wrappers, and its time limit in steps.

    The time limit and the order of calls are the rollout loop's business; every other wrapper stays.
    """
    _log_mujoco_warnings()
    try:
        env = gymnasium.make(env_id, disable_env_checker=True, **kwargs)
    except (gymnasium.error.Error, ImportError, TypeError) as error:
        hint = "" if env_id in ids() or ":" in env_id else nearest(env_id, ids())
        reason = str(error).split(" Did you mean")[0].rstrip(".")  # Gymnasium's guess has no version
        raise UsageError(f"environment '{env_id}' cannot be made: {reason}{hint}") from error
    except (Exception, SystemExit) as error:  # of the environment's own module
        reason = f"{type(error).__name__}: {error}"
        raise UsageError(f"environment '{env_id}' cannot be made: {reason} (-v shows the traceback)") from error
    limit = env.spec.max_episode_steps if env.spec else None
    while isinstance(env, (TimeLimit, OrderEnforcing, PassiveEnvChecker)):
        env = env.env
    if limit is None:
        raise UsageError(f"environment '{env_id}' has no time limit; register it with max_episode_steps")
    from erlbench.envs.mujoco_fast import hasten  # not at the top: it imports MuJoCo

    hasten(env)
    return env, limit


def _log_mujoco_warnings() -> None:
    """Let MuJoCo warn through the logger `mujoco`, not by writing to stderr and to ./MUJOCO_LOG.TXT.

    What it deprecates in the models that Gymnasium ships (lately HalfCheetah's `settotalmass`) is no user's
    concern, so it has the level INFO, which Python does not print by default.
    """
    import mujoco  # not at the top: 0.1 s that naming environments need not pay

    def warn(message: str) -> None:  # called from C++, where an exception would end the process; logging raises none
        logging.getLogger("mujoco").log(logging.INFO if "is deprecated" in message else logging.WARNING, message)

    if mujoco.get_mju_user_warning() is None:
        mujoco.set_mju_user_warning(warn)


def problem(env_id: str, **kwargs: Any) -> Problem:
    """Make the environment once, check that it fits, and describe it."""
    env, limit = make(env_id, **kwargs)
    try:
        observation, action = env.observation_space, env.action_space
        if not isinstance(observation, Box) or len(observation.shape) != 1:
            raise UsageError(f"environment '{env_id}' has observations {observation}; a flat Box is needed")
        if not isinstance(action, Box) or len(action.shape) != 1 or not action.shape[0]:
            raise UsageError(f"environment '{env_id}' has actions {action}; the algorithms need a continuous Box")
        if not (np.isfinite(action.low).all() and np.isfinite(action.high).all()):
            raise UsageError(f"environment '{env_id}' has unbounded actions {action}; wrap it with finite bounds")
        return Problem(
            EnvSpec(env_id, limit, kwargs),
            observation.shape[0],
            action.shape[0],
            tuple(map(float, action.low)),
            tuple(map(float, action.high)),
        )
    finally:
        env.close()
