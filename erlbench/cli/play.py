"""`erlbench play`: watch the policy of a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from erlbench.cli.options import options_command
from erlbench.errors import ErlbenchError, UsageError, describe_error
from erlbench.options import argument, option
from erlbench.words import counted

LONGEST = 600.0  # seconds


@dataclass(frozen=True)
class PlayOptions:
    """What is played, and how."""

    run: Path = argument("RUN")
    video: Path | None = option(None, "write a film, .mp4 or .gif; no window", "FILE")
    no_video: bool = option(False, "print the returns only: no window, no film")
    episodes: int = option(1, "number of episodes to play", minimum=1)
    steps: int | None = option(None, "end each episode after N steps", minimum=1)
    seed: int | None = option(None, "seed of the start states [default: the last evaluation's]", minimum=0)

    def __post_init__(self) -> None:
        if self.no_video and self.video is not None:
            raise UsageError("--no-video and --video exclude one another")


@options_command(PlayOptions)
def command(options: PlayOptions) -> None:
    """Watch the policy of the finished run in the folder RUN.

    It opens a window. With --video it writes a film instead, which needs no display: MuJoCo then draws by EGL or by
    OSMesa, whichever works; MUJOCO_GL=egl or MUJOCO_GL=osmesa chooses one. The episodes start as in the run's
    last evaluation, so the printed returns are those in eval.csv.

    \b
    Examples:
      erlbench play results/Swimmer-v5/cem/seed-000
      erlbench play results/Swimmer-v5/cem/seed-000 --video swimmer.mp4
      erlbench play results/Swimmer-v5/cem/seed-000 --video a.gif --steps 200
      erlbench play results/Swimmer-v5/cem/seed-000 --no-video --episodes 10
    """
    from erlbench.playing import play_run
    from erlbench.pool.separate_process import run_separately

    try:
        values = {name: getattr(options, name) for name in ("run", "episodes", "seed", "steps", "video")}
        window = options.video is None and not options.no_video
        played = run_separately(play_run, **values, window=window, seconds=LONGEST)
    except ErlbenchError:
        raise
    except Exception as error:  # of settings that no run has
        raise UsageError(f"{options.run} cannot be played: {describe_error(error)}") from error
    for number, episode in enumerate(played, 1):
        click.echo(f"episode {number}: return {episode.total:,.2f}, {counted(episode.length, 'step')}")
    if options.video is not None:
        click.echo(f"film: {options.video}")
