"""Plays the policy of a finished run: in a window, as a film, or without a picture."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium

from erlbench.errors import TaskError, UsageError
from erlbench.playing import film, renderer
from erlbench.policy import NumpyPolicy, load_policy
from erlbench.records.run import CONFIG, RunFiles
from erlbench.running.evaluation import evaluation_seeds

MOST_STEPS = 100_000  # of an episode
RATE = 30.0  # frames a second of environments that do not say theirs
WINDOW, FRAMES = "human", "rgb_array"


@dataclass(frozen=True)
class PlayedEpisode:
    """One episode that was played."""

    seed: int  # of the environment's reset
    length: int  # steps
    total: float  # undiscounted return


class Drawn(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Hands a frame to the film after the reset and after each step."""

    def __init__(self, env: gymnasium.Env[Any, Any], to: film.Film) -> None:
        super().__init__(env)
        self.film = to

    def reset(self, **arguments: Any) -> Any:
        outcome = self.env.reset(**arguments)
        self.film.add(self.env.render)
        return outcome

    def step(self, action: Any) -> Any:
        outcome = self.env.step(action)
        self.film.add(self.env.render)
        return outcome


def play_run(
    run: Path, *, episodes: int = 1, seed: int | None = None, steps: int | None = None, video: Path | None = None,
    window: bool = False,
) -> list[PlayedEpisode]:  # fmt: skip
    """Play the policy of the run in the folder `run`, which is done, by its deterministic actions.

    The start states are those of the final evaluation of a run with the same seed, or with `seed`, so that the
    returns are those of the last row in eval.csv. `steps` ends the episodes earlier. With `video`
    (a name that ends in .mp4 or .gif) all episodes become one film, with `window` they are shown.
    Raises `UsageError` for a folder without a policy, and where nothing can be drawn or written, and `FilmError` when a
    film that was begun cannot be ended.
    """
    if not (run / CONFIG).exists():
        example = "results/Hopper-v5/td3/seed-000"
        raise UsageError(f"{run} is no run: there is no config.toml; name a folder such as {example}")
    config = RunFiles(run).run_config()
    policy = load_policy(run)
    if video is not None:
        film.check(video)  # before anything is played
    seeds = evaluation_seeds(config["run"]["seed"] if seed is None else seed, None, episodes)
    mode = WINDOW if window else FRAMES if video else None
    with environment_of(config, mode) as (env, limit):
        rate = float(env.metadata.get("render_fps") or RATE)
        with closing(film.Film(video, rate)) if video else nullcontext() as made:
            if mode == FRAMES:
                renderer.simplify(env)
            stage = Drawn(env, made) if made is not None else env
            limit = min(limit, steps or limit)
            if limit > MOST_STEPS:
                raise UsageError(
                    f"its episodes have up to {limit:,} steps, more than the budget of {MOST_STEPS:,}; end them by "
                    "--steps N"
                )
            return [_play(stage, policy, limit, reset_seed) for reset_seed in seeds]


def _play(env: gymnasium.Env[Any, Any], policy: NumpyPolicy, limit: int, seed: int) -> PlayedEpisode:
    from erlbench.work.rollout import play

    try:
        played = play(env, policy, limit, seed, mode=True)
    except TaskError as error:
        if isinstance(error.__cause__, film.FilmError):  # the film's frames are drawn in the environment's step
            raise error.__cause__ from None
        raise
    return PlayedEpisode(seed, played.length, played.total)


@contextmanager
def environment_of(config: dict[str, Any], mode: str | None) -> Iterator[tuple[gymnasium.Env[Any, Any], int]]:
    """The run's environment with the render mode `mode`, and its longest episode in steps."""
    name = config["run"]["env"]
    if mode == WINDOW and not renderer.has_display():
        raise UsageError("there is no display to open a window on; make a film instead: --video film.mp4 (or .gif)")
    if mode == FRAMES:
        renderer.choose_offscreen(mujoco=_by_mujoco(name))  # before they are imported
    from erlbench.envs.registry import build, problem

    found = problem(name, config["env_settings"])
    with closing(build(found.env)) as env:
        if mode and mode not in env.metadata.get("render_modes", ()):
            raise UsageError(f"{name} cannot be drawn: it has no render mode {mode}; --no-video plays it without")
        if not mode:
            yield env, found.env.max_episode_steps
            return
    spec = dataclasses.replace(found.env, kwargs={**found.env.kwargs, "render_mode": mode})
    with closing(build(spec)) as env:
        renderer.widen_floor(env)
        yield env, spec.max_episode_steps


def _by_mujoco(name: str) -> bool:
    """Whether MuJoCo draws the environment, or may; Box2D's, the classic ones and our own do without it."""
    from erlbench.envs.catalogue import LISTED

    env_id = name.partition("@")[0]
    return env_id not in LISTED or "MuJoCo" in LISTED[env_id].source or "dm_control" in LISTED[env_id].source
