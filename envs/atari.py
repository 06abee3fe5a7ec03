"""Atari games of the Arcade Learning Environment, as images: `ALE/Pong-v5` and all other games of ale-py.

Gymnasium's AtariPreprocessing (84 x 84, grey, the maximum of the last two of a step's frames) and a stack of four. A
step is `frame_skip` frames. The defaults are Machado et al. 2018's: actions repeat with probability 0.25, nothing ends
with a lost life. The preset `paper` repeats none (Salimans et al. 2017, who took A3C's preprocessing).
"""

from __future__ import annotations

from functools import partial

import ale_py
import gymnasium
from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation

from erlbench.envs.catalogue import ALE, ALE_FRAME_SKIP, registered
from erlbench.envs.wrappers import Env, ImageVector

SCREEN, STACK = 84, 4  # pixels of a side, and images of an observation
FRAMES = 108_000  # of an episode: half an hour of play

ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
gymnasium.register_envs(ale_py)


def make_game(
    game: str,
    frame_skip: int = ALE_FRAME_SKIP,
    repeat_action_probability: float = 0.25,
    noop_max: int = 30,
    full_action_space: bool = False,
    mode: int | None = None,
    difficulty: int | None = None,
    render_mode: str | None = None,
) -> Env:
    """A game by its name in ale-py's ids, `Pong`; a start plays 1 to `noop_max` frames without an action."""
    env: Env = gymnasium.make(
        f"{ALE}{game}-v5",
        frameskip=1,
        repeat_action_probability=repeat_action_probability,
        full_action_space=full_action_space,
        mode=mode,
        difficulty=difficulty,
        render_mode=render_mode,
        max_num_frames_per_episode=FRAMES,
        disable_env_checker=True,
    )
    env = AtariPreprocessing(env, noop_max=noop_max, frame_skip=frame_skip, screen_size=SCREEN)
    return ImageVector(FrameStackObservation(env, STACK))


for _id in [name for name in gymnasium.registry if name.startswith(ALE)]:
    _make = partial(make_game, game=_id.removeprefix(ALE).removesuffix("-v5"))
    gymnasium.register(registered(_id), _make, max_episode_steps=FRAMES // ALE_FRAME_SKIP)
