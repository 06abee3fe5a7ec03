"""What a robot of MuJoCo does in an episode: where it is, its joints, and what touches the ground."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from erlbench.errors import UsageError
from erlbench.playing.player import config_of, environment_of
from erlbench.policy import NumpyPolicy, load_policy
from erlbench.running.evaluation import evaluation_seeds
from erlbench.work.exploration import ExplorationNoise
from erlbench.work.rollout import play

WORLD = 0  # MuJoCo's body of the ground
TORSO = 1  # the first of the robot


@dataclass(frozen=True)
class Motion:
    """An episode of T steps; row 0 is the start."""

    seconds: float  # a step lasts
    place: np.ndarray  # (T + 1, 2), the torso's on the ground, in metres
    joints: np.ndarray  # (T + 1, hinges), angles in radians
    contacts: np.ndarray  # (T + 1, bodies) bool: what touches the ground
    hinges: tuple[str, ...]
    bodies: tuple[str, ...]


class MotionNoted(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Notes the robot's state after the reset and after each step."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        """`UsageError` for an environment that Gymnasium does not simulate by MuJoCo."""
        super().__init__(env)
        inner: Any = env.unwrapped
        self._model, self._data = _simulated(inner)
        import mujoco

        hinge = np.flatnonzero(self._model.jnt_type == mujoco.mjtJoint.mjJNT_HINGE)
        self._angles = self._model.jnt_qposadr[hinge]
        self._seconds = float(inner.dt)
        self._hinges = tuple(self._model.joint(index).name for index in hinge)
        self._bodies = tuple(self._model.body(index).name for index in range(1, self._model.nbody))
        self._rows: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []

    def reset(self, **arguments: Any) -> Any:
        outcome = self.env.reset(**arguments)
        self._rows = [self._row()]
        return outcome

    def step(self, action: Any) -> Any:
        outcome = self.env.step(action)
        self._rows.append(self._row())
        return outcome

    def trace(self) -> Motion:
        """Of the last episode."""
        place, joints, contacts = map(np.array, zip(*self._rows, strict=True))
        return Motion(self._seconds, place, joints, contacts, self._hinges, self._bodies)

    def _row(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        data, touching = self._data, np.zeros(len(self._bodies), bool)
        bodies = self._model.geom_bodyid[data.contact.geom[: data.ncon]]
        touching[bodies[(bodies == WORLD).any(axis=1)].max(axis=1, initial=0) - 1] = True
        return data.xpos[TORSO, :2].copy(), data.qpos[self._angles].copy(), touching


def _simulated(inner: Any) -> tuple[Any, Any]:
    """MuJoCo's model and data, as Gymnasium's robots hold them."""
    model, data = getattr(inner, "model", None), getattr(inner, "data", None)
    if not hasattr(model, "jnt_qposadr") or not hasattr(data, "contact"):
        raise UsageError("behaviour is known of Gymnasium's robots by MuJoCo alone")
    return model, data


def trace_of(
    env: gymnasium.Env[Any, Any], policy: NumpyPolicy, limit: int, seed: int, action_noise: float = 0.0
) -> Motion:
    """An episode of at most `limit` steps by the policy's mode, with white noise on its actions where that is asked."""
    traced = MotionNoted(env)
    size = policy.spec.sizes[-1]
    noise = ExplorationNoise(size, 1.0, action_noise) if action_noise else None
    play(traced, policy, limit, seed, np.random.default_rng(seed) if noise else None, noise, mode=True)
    return traced.trace()


def trace_run(run: Path, episodes: int) -> list[Motion]:
    """Episodes of the policy of the finished run in the folder `run`, from the start states of its last evaluation."""
    config, policy = config_of(run), load_policy(run)
    with environment_of(config, None) as (env, limit):
        return [trace_of(env, policy, limit, seed) for seed in evaluation_seeds(config["seed"], None, episodes)]
