"""Playing the policy of a finished run: in a window, as a film, or without a picture; and how this machine draws.

MuJoCo draws by a display, by EGL, or by OSMesa; frames become an mp4 or a gif.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import imageio.v2 as imageio
import numpy as np
from PIL import Image

from erlbench.envs.catalogue import LISTED
from erlbench.errors import ErlbenchError, TaskError, UsageError, error_text, explain, warn
from erlbench.files import Table
from erlbench.policy import load_policy
from erlbench.records.run import CONFIG, POLICY, RunFiles
from erlbench.running.evaluation import evaluation_seeds
from erlbench.work.contract import say_kind

OFFSCREEN = ("egl", "osmesa")  # in the order of their speed
PACKAGES = {"egl": "libegl1", "osmesa": "libosmesa6"}  # of Debian and Ubuntu
VARIABLE = "MUJOCO_GL"
FLOOR = 10.0  # metres from its middle to its edge, of a plane that is a floor
SECONDS = 60  # of the probe: a driver that hangs is one that does not work
SUFFIXES = (".mp4", ".gif")
RATE = 30.0  # frames a second of environments without a value
GIF_RATE = 25.0  # frames a second; more are left out
LEAST = 160  # pixels of a side; smaller frames are made larger
GIF_WIDTH, GIF_COLOURS = 320, 64  # pixels, and colours per frame; wider frames are made smaller
MOST_STEPS = 100_000  # of an episode
WINDOW, FRAMES = "human", "rgb_array"
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


def can_draw(backend: str) -> bool:
    """Whether MuJoCo draws by `backend`; tried in a separate process, which a broken driver may end."""
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
        return  # Box2D's, the classic ones and the suite's do without it
    chosen = os.environ.get(VARIABLE, "").lower().strip()
    if chosen == "glfw":
        if not has_display():
            raise UsageError(f"{VARIABLE}=glfw needs a display, and there is none; unset it")
        return
    backend = next(filter(can_draw, [chosen] if chosen in OFFSCREEN else OFFSCREEN), "")
    if backend:
        os.environ[VARIABLE] = os.environ["PYOPENGL_PLATFORM"] = backend
    elif chosen in OFFSCREEN:
        raise UsageError(f"{VARIABLE}={chosen} does not work here; unset it, or: sudo apt install {PACKAGES[chosen]}")
    else:
        raise UsageError(
            "MuJoCo cannot draw here: neither EGL nor OSMesa works. Install one of them, on Debian and Ubuntu by: "
            f"sudo apt install {PACKAGES['egl']} libegl-mesa0, or: sudo apt install {PACKAGES['osmesa']}"
        )


class Film(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Writes a frame after each reset and each step: a looping gif, or an mp4 by ffmpeg; whole once it is closed."""

    def __init__(self, env: gymnasium.Env[Any, Any], path: Path) -> None:
        super().__init__(env)
        self._path, self._is_gif = path, path.suffix == ".gif"
        rate = float(env.metadata.get("render_fps") or RATE)
        self._every = max(1, round(rate / GIF_RATE)) if self._is_gif else 1
        options: Table = {"fps": rate, "macro_block_size": 2, "ffmpeg_log_level": "quiet"}
        if self._is_gif:
            options = {"duration": 1000 * self._every / rate, "loop": 0}
        self._writer, self._frames = imageio.get_writer(path, **options), 0
        self._shape: tuple[int, ...] = ()  # of the first frame
        self._error: Exception | None = None  # no more is written after it, and `close` raises it

    def reset(self, **arguments: Any) -> Any:
        outcome = self.env.reset(**arguments)
        self._add()
        return outcome

    def step(self, action: Any) -> Any:
        outcome = self.env.step(action)
        self._add()
        return outcome

    def _add(self) -> None:
        if not self._error and not self._frames % self._every:
            self._write(self._draw())
        self._frames += 1

    def _draw(self) -> np.ndarray:
        """A frame, uint8. Raises `TaskError` where the environment gives nothing that a film can have."""
        try:
            frame: Any = self.env.render()
        except Exception as error:
            raise TaskError(
                f"the environment raised {type(error).__name__} in render(): {error_text(error)}"
            ) from error
        is_array = isinstance(frame, np.ndarray) and frame.size and (frame.dtype == np.uint8 or frame.dtype.kind == "f")
        if not is_array or frame.shape[2:] not in ((3,), (4,), ()) or frame.ndim < 2:
            raise TaskError(
                f"the environment's render() gave {say_kind(frame)}; a film needs an array (height, width, 3) of uint8"
            )
        self._shape = self._shape or frame.shape
        if frame.shape != self._shape:
            text = f"gave {say_kind(frame)} after one of shape {self._shape}; a film's frames have one shape"
            raise TaskError(f"the environment's render() {text}")
        is_float = frame.dtype.kind == "f"  # MinAtar's colours, from 0 to 1
        return np.round(255 * frame).astype(np.uint8) if is_float else frame

    def _write(self, frame: np.ndarray) -> None:
        if (times := LEAST // min(frame.shape[:2])) > 1:  # its screen is 10 x 10
            frame = frame.repeat(times, axis=0).repeat(times, axis=1)
        if self._is_gif:
            image = Image.fromarray(frame)
            image.thumbnail((GIF_WIDTH, image.height))
            frame = np.asarray(image.quantize(GIF_COLOURS).convert("RGB"))
        try:
            self._writer.append_data(frame)
        except Exception as error:  # OSError, or what imageio makes of an ffmpeg that is missing or broken
            self._error = error

    def close(self) -> None:
        """End the film. Raises `ErlbenchError` when it is not whole."""
        try:
            self._writer.close()
            # ffmpeg writes the index last.
            if self._frames and not self._is_gif and b"moov" not in self._path.read_bytes():
                raise OSError
        except OSError as error:
            self._error = self._error or error
        if isinstance(self._error, OSError) and self._is_gif:
            raise ErlbenchError(explain(self._error, self._path)) from None
        if self._error:  # its text is ffmpeg's command, not the reason
            what = "ffmpeg cannot write the film; is it broken, or the disk full? Free some space, or make a .gif"
            raise ErlbenchError(f"{self._path}: {what}") from None


class PlayedEpisode(NamedTuple):
    """One episode that was played."""

    seed: int  # of the environment's reset
    length: int  # steps
    total: float  # undiscounted return


def play_run(
    run: Path,
    *,
    episodes: int = 1,
    seed: int | None = None,
    steps: int | None = None,
    video: Path | None = None,
    window: bool = False,
) -> list[PlayedEpisode]:
    """Play the policy of the run in the folder `run`, which is done, by its deterministic actions.

    The start states are from the final evaluation of a run with the same seed, or with `seed`, so that the returns
    equal those in the last row of eval.csv. `steps` ends the episodes earlier. With `video`
    (a name that ends in .mp4 or .gif) all episodes become one film, with `window` they are shown.
    Raises `UsageError` for a folder without a policy, and where nothing can be drawn or written, and `ErlbenchError`
    when a film that was begun cannot be ended.
    """
    if not (run / CONFIG).exists():
        example = "results/Hopper-v5/td3/seed-000"
        raise UsageError(f"{run} is no run: there is no config.toml; name a folder such as {example}")
    config, policy = RunFiles(run).run_config(), load_policy(run)
    for edit in RunFiles(run).list_edits(CONFIG, POLICY):
        warn(edit)
    if video:  # before anything is played
        if video.suffix not in SUFFIXES:
            raise UsageError(f"--video {video}: the name must end in {' or '.join(SUFFIXES)}")
        if video.suffix == ".mp4" and find_spec("imageio_ffmpeg") is None:
            raise UsageError("an mp4 needs a package: pip install 'erlbench[video]'; a gif needs none")
        if video.is_symlink() or (video.exists() and not video.is_file()):
            raise UsageError(f"--video {video}: a folder, a device or a link has this name; give another one")
        if not os.access(video if video.exists() else video.parent, os.W_OK):
            raise UsageError(f"--video {video} cannot be written; give a file in another folder")
    seeds = evaluation_seeds(config["run"]["seed"] if seed is None else seed, None, episodes)
    with _environment(config, WINDOW if window else FRAMES if video else "") as (env, longest):
        limit = min(longest, steps or longest)
        if limit > MOST_STEPS:
            text = f"its episodes have up to {limit:,} steps, more than the budget of {MOST_STEPS:,}"
            raise UsageError(f"{text}; end them by --steps N")
        from erlbench.work.rollout import play

        with closing(Film(env, video)) if video else nullcontext(env) as stage:
            played = ((episode_seed, play(stage, policy, limit, episode_seed, mode=True)) for episode_seed in seeds)
            return [PlayedEpisode(episode_seed, episode.length, episode.total) for episode_seed, episode in played]


@contextmanager
def _environment(config: Table, mode: str) -> Iterator[tuple[gymnasium.Env[Any, Any], int]]:
    """The run's environment, drawn in `mode`, and its longest episode in steps."""
    name, kwargs = config["run"]["env"], {}
    if mode == WINDOW and not has_display():
        raise UsageError("there is no display to open a window on; make a film instead: --video film.mp4 (or .gif)")
    if mode == FRAMES:
        choose_offscreen(name)  # before they are imported
    from erlbench.envs.registry import build, problem

    spec = problem(name, config["env_settings"]).env
    if mode:
        with closing(build(spec)) as env:
            if mode not in env.metadata.get("render_modes", ()):
                raise UsageError(f"{name} cannot be drawn: it has no render mode {mode}; --no-video plays it without")
        kwargs = {"render_mode": mode}
    with closing(build(replace(spec, kwargs={**spec.kwargs, **kwargs}))) as env:
        if mode:
            widen_floor(env)
        if mode == FRAMES:
            simplify(env)
        yield env, spec.max_episode_steps
