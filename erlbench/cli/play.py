"""`erlbench play`: watch the policy of a run."""

from __future__ import annotations

from pathlib import Path

import click

from erlbench.errors import ErlbenchError, UsageError
from erlbench.words import counted


@click.command()
@click.argument("run", metavar="RUN", type=click.Path(path_type=Path))
@click.option("--video", metavar="FILE", type=click.Path(path_type=Path), help="write a film, .mp4 or .gif; no window")
@click.option("--no-video", is_flag=True, help="print the returns only: no window, no film")
@click.option(
    "--episodes",
    default=1,
    show_default=True,
    metavar="N",
    type=click.IntRange(min=1),
    help="number of episodes to play",
)
@click.option("--steps", metavar="N", type=click.IntRange(min=1), help="end each episode after N steps")
@click.option(
    "--seed", metavar="N", type=click.IntRange(min=0), help="seed of the start states [default: the last evaluation's]"
)
@click.option(
    "--seconds",
    default=600.0,
    show_default=True,
    metavar="S",
    type=click.FloatRange(min=1),
    help="end it after S seconds",
)
def command(
    run: Path, video: Path | None, no_video: bool, episodes: int, steps: int | None, seed: int | None, seconds: float,
) -> None:  # fmt: skip
    """Watch the policy of the finished run in the folder RUN.

    It opens a window. With --video it writes a film instead, which needs no display: MuJoCo then draws by EGL or by
    OSMesa, whichever works; MUJOCO_GL=egl or MUJOCO_GL=osmesa chooses one. The episodes start as those of the run's
    last evaluation, so the printed returns are those in eval.csv.

    \b
    Examples:
      erlbench play results/Swimmer-v5/cem/seed-000
      erlbench play results/Swimmer-v5/cem/seed-000 --video swimmer.mp4
      erlbench play results/Swimmer-v5/cem/seed-000 --video a.gif --steps 200
      erlbench play results/Swimmer-v5/cem/seed-000 --no-video --episodes 10
    """
    from erlbench.playing import play_run
    from erlbench.pool.apart import apart

    if no_video and video is not None:
        raise UsageError("--no-video and --video exclude one another")
    window = video is None and not no_video
    try:
        played = apart(
            play_run, run, episodes=episodes, seed=seed, steps=steps, video=video, window=window, seconds=seconds
        )
    except ErlbenchError:
        raise
    except Exception as error:  # of settings that no run has
        raise UsageError(f"{run} cannot be played: {type(error).__name__}: {error}") from error
    for number, episode in enumerate(played, 1):
        click.echo(f"episode {number}: return {episode.total:,.2f}, {counted(episode.length, 'step')}")
    if video is not None:
        click.echo(f"film: {video}")
