"""Plays the policy of a finished run: in a window, as a film, or without a picture."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium

from erlbench.errors import UsageError
from erlbench.playing import renderer
from erlbench.playing.film import Film, check_film
from erlbench.policy import load_policy
from erlbench.records.run import CONFIG, RunFiles
from erlbench.running.evaluation import evaluation_seeds

MOST_STEPS = 100_000  # of an episode
WINDOW, FRAMES = "human", "rgb_array"


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

    The start states are those of the final evaluation of a run with the same seed, or with `seed`, so that the
    returns are those of the last row in eval.csv. `steps` ends the episodes earlier. With `video`
    (a name that ends in .mp4 or .gif) all episodes become one film, with `window` they are shown.
    Raises `UsageError` for a folder without a policy, and where nothing can be drawn or written, and `ErlbenchError`
    when a film that was begun cannot be ended.
    """
    if not (run / CONFIG).exists():
        example = "results/Hopper-v5/td3/seed-000"
        raise UsageError(f"{run} is no run: there is no config.toml; name a folder such as {example}")
    config, policy = RunFiles(run).run_config(), load_policy(run)
    if video:
        check_film(video)  # before anything is played
    seeds = evaluation_seeds(config["run"]["seed"] if seed is None else seed, None, episodes)
    with _environment(config, WINDOW if window else FRAMES if video else "") as (env, longest):
        limit = min(longest, steps or longest)
        if limit > MOST_STEPS:
            text = f"its episodes have up to {limit:,} steps, more than the budget of {MOST_STEPS:,}"
            raise UsageError(f"{text}; end them by --steps N")
        from erlbench.work.rollout import play

        with closing(Film(env, video)) if video else nullcontext(env) as stage:
            played = ((each, play(stage, policy, limit, each, mode=True)) for each in seeds)
            return [PlayedEpisode(each, episode.length, episode.total) for each, episode in played]


@contextmanager
def _environment(config: dict[str, Any], mode: str) -> Iterator[tuple[gymnasium.Env[Any, Any], int]]:
    """The run's environment, drawn as `mode` says, and its longest episode in steps."""
    name, kwargs = config["run"]["env"], {}
    if mode == WINDOW and not renderer.has_display():
        raise UsageError("there is no display to open a window on; make a film instead: --video film.mp4 (or .gif)")
    if mode == FRAMES:
        renderer.choose_offscreen(name)  # before they are imported
    from erlbench.envs.registry import build, problem

    spec = problem(name, config["env_settings"]).env
    if mode:
        with closing(build(spec)) as env:
            if mode not in env.metadata.get("render_modes", ()):
                raise UsageError(f"{name} cannot be drawn: it has no render mode {mode}; --no-video plays it without")
        kwargs = {"render_mode": mode}
    with closing(build(replace(spec, kwargs={**spec.kwargs, **kwargs}))) as env:
        if mode:
            renderer.widen_floor(env)
        if mode == FRAMES:
            renderer.simplify(env)
        yield env, spec.max_episode_steps
