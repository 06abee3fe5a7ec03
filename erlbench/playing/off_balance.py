"""Starts at a named angle, and when the robot stands upright again: the ESAC paper's figure 4, with a measure.

The paper shows frames and names neither the angle nor what upright is; both are ours.
"""

from __future__ import annotations

import math
from typing import Any

import gymnasium
import numpy as np

from erlbench.errors import UsageError

PITCH, HEIGHT = "rooty", "rootz"  # the joints of MuJoCo's planar robots, in Gymnasium and in dm_control
UPRIGHT = 30.0  # degrees from the standing pose, at most; a gait leans, too
WATCHED = 100  # steps, as many as the figure shows
NOISE = 0.005  # radians of each other joint, uniform: as Gymnasium's walkers start
LIFT, HIGHEST = 0.01, 2.0  # metres


class OffBalance(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Starts each episode in the standing pose, tilted forward by `degrees`, just above the floor and at rest.

    Observations are those that the environment and its wrappers give of this state. `UsageError` for an environment
    that is no planar robot of MuJoCo.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], name: str, degrees: float) -> None:
        super().__init__(env)
        self._bare: Any = env.unwrapped
        self._angle = math.radians(degrees)
        self._tilts: list[float] = []
        self._terminated = False
        model = self._physics()[0]
        if model is None or not {PITCH, HEIGHT} <= {*_joints(model)}:
            raise UsageError(
                f"{name} has no start at an angle: it is no planar robot of MuJoCo with the joints {PITCH} and "
                f"{HEIGHT}, as Walker2d-v5, Hopper-v5, HalfCheetah-v5 and dm_control/walker-walk-v0 are"
            )
        self._places = _joints(model)
        self._reset = self._bare.reset
        vars(self._bare)["reset"] = self._tilted  # innermost, so that all wrappers see the tilted state

    @property
    def upright_after(self) -> int | None:
        """Steps after which it stays within `UPRIGHT` degrees until `WATCHED` are over; None: it fell, or leans."""
        leans = [step for step, tilt in enumerate(self._tilts[: WATCHED + 1]) if abs(tilt) > math.radians(UPRIGHT)]
        last = leans[-1] if leans else -1
        fell = self._terminated and len(self._tilts) <= WATCHED
        return None if fell or last == len(self._tilts[: WATCHED + 1]) - 1 else last + 1

    def reset(self, **arguments: Any) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(**arguments)
        self._tilts, self._terminated = [self._tilt()], False
        return observation, info

    def step(self, action: np.ndarray) -> Any:
        outcome = self.env.step(action)
        self._tilts.append(self._tilt())
        self._terminated = bool(outcome[2])
        return outcome

    def _tilted(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        _, info = self._reset(seed=seed, options=options)
        model, data = self._physics()
        pose = model.qpos0 + np.random.default_rng(seed).uniform(-NOISE, NOISE, model.nq)
        pose[self._places[PITCH]] = self._angle
        for _ in range(round(HIGHEST / LIFT)):
            data.qpos[:], data.qvel[:] = pose, 0.0
            self._forward(model, data)
            if not data.ncon:
                break
            pose[self._places[HEIGHT]] += LIFT
        return self._observed(), info

    def _physics(self) -> tuple[Any, Any]:
        """MuJoCo's model and data; None for both without them."""
        if hasattr(self._bare, "model"):
            return self._bare.model, self._bare.data
        physics = getattr(getattr(self._bare, "_env", None), "physics", None)
        return (None, None) if physics is None else (physics.model.ptr, physics.data.ptr)

    def _forward(self, model: Any, data: Any) -> None:
        import mujoco

        mujoco.mj_forward(model, data)

    def _observed(self) -> Any:
        if hasattr(self._bare, "model"):
            return self._bare._get_obs()
        from shimmy.utils.dm_env import dm_obs2gym_obs

        control = self._bare._env
        return dm_obs2gym_obs(control.task.get_observation(control.physics))

    def _tilt(self) -> float:
        """Radians from the standing pose, in [-pi, pi]."""
        return math.remainder(float(self._physics()[1].qpos[self._places[PITCH]]), math.tau)


def _joints(model: Any) -> dict[str, int]:
    """Where the position of each joint of one number stands in qpos."""
    import mujoco

    single = int(mujoco.mjtJoint.mjJNT_SLIDE), int(mujoco.mjtJoint.mjJNT_HINGE)
    return {
        mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, joint): int(model.jnt_qposadr[joint])
        for joint in range(model.njnt)
        if int(model.jnt_type[joint]) in single
    }
