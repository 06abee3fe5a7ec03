"""How MuJoCo draws on this machine: by a display, by EGL, or by OSMesa."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

from erlbench.envs.catalogue import LISTED
from erlbench.errors import UsageError

OFFSCREEN = ("egl", "osmesa")  # in the order of their speed
PACKAGES = {"egl": "libegl1", "osmesa": "libosmesa6"}  # of Debian and Ubuntu
VARIABLE = "MUJOCO_GL"
FLOOR = 10.0  # metres from its middle to its edge, of a plane that is a floor
SECONDS = 60  # a driver that hangs is one that does not work
PROBE = """
import mujoco
model = mujoco.MjModel.from_xml_string("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>")
data = mujoco.MjData(model)
mujoco.mj_forward(model, data)
renderer = mujoco.Renderer(model, 16, 16)
renderer.update_scene(data)
assert renderer.render().any()
"""


def has_display() -> bool:
    """Whether a window can be opened."""
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def works(backend: str) -> bool:
    """Whether MuJoCo draws by `backend`; tried in a process of its own, which a broken driver may end."""
    environment = {**os.environ, VARIABLE: backend, "PYOPENGL_PLATFORM": backend}
    command = [sys.executable, "-P", "-c", PROBE]
    try:
        return not subprocess.run(command, env=environment, capture_output=True, timeout=SECONDS).returncode
    except subprocess.TimeoutExpired:
        return False


def simplify(env: Any) -> None:
    """Draw Gymnasium's robots without shadows, reflections and smooth edges, by the camera that follows them.

    Mesa's software renderer, which is what there is without a GPU, then takes a tenth of the time for a frame.
    """
    bare = env.unwrapped
    if not hasattr(bare, "mujoco_renderer"):
        return
    import mujoco

    camera = mujoco.mj_name2id(bare.model, mujoco.mjtObj.mjOBJ_CAMERA, "track")
    if camera != -1:  # Gymnasium's default one stays where it is, and the robot leaves the picture
        bare.mujoco_renderer.camera_id = camera
    bare.model.vis.quality.offsamples = 0
    env.reset(seed=0)
    env.render()  # makes the viewer
    flags = bare.mujoco_renderer.viewer.scn.flags
    flags[mujoco.mjtRndFlag.mjRND_SHADOW] = flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = 0


def widen_floor(env: Any) -> None:
    """Draw MuJoCo's floors without an end, which fast robots reach; they collide as before, as planes have none.

    A plane of less than `FLOOR` metres is something else, such as Pusher's table.
    """
    model: Any = getattr(env.unwrapped, "model", None)
    if not hasattr(model, "geom_type"):
        return
    import mujoco

    is_floor = (model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE) & (model.geom_size[:, :2].min(axis=1) >= FLOOR)
    textured = is_floor & (model.geom_matid >= 0)
    model.mat_texrepeat[model.geom_matid[textured]] /= model.geom_size[textured, :2]  # now a metre's
    model.geom_size[is_floor, :2] = 0.0


def choose_offscreen(env: str) -> None:
    """Have Pygame and, where it may draw the environment, MuJoCo draw without a display.

    MuJoCo does so by $MUJOCO_GL, or by the first renderer that works. A `UsageError` names the packages when none does.
    """
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # else Pygame complains where there is no display
    listed = LISTED.get(env.partition("@")[0])
    if listed and not any(engine in listed.source for engine in ("MuJoCo", "dm_control")):
        return  # Box2D's, the classic ones and our own do without it
    chosen = os.environ.get(VARIABLE, "").lower().strip()
    if chosen == "glfw":
        if not has_display():
            raise UsageError(f"{VARIABLE}=glfw needs a display, and there is none; unset it")
        return
    backend = next(filter(works, [chosen] if chosen in OFFSCREEN else OFFSCREEN), "")
    if backend:
        os.environ[VARIABLE] = os.environ["PYOPENGL_PLATFORM"] = backend
    elif chosen in OFFSCREEN:
        raise UsageError(f"{VARIABLE}={chosen} does not work here; unset it, or: sudo apt install {PACKAGES[chosen]}")
    else:
        raise UsageError(
            "MuJoCo cannot draw here: neither EGL nor OSMesa works. Install one of them, on Debian and Ubuntu by: "
            f"sudo apt install {PACKAGES['egl']} libegl-mesa0, or: sudo apt install {PACKAGES['osmesa']}"
        )
