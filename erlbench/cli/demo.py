"""`erlbench demo`: in under two minutes from nothing to a figure, a film and a page."""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import click

from erlbench.cli import message
from erlbench.cli.options import options_command
from erlbench.options import option

ENV, SEEDS, STEPS = "Swimmer-v5", 2, 150_000
ALGOS = ("cem", "openai-es")
FILM_STEPS = 300  # twelve seconds


@dataclass(frozen=True)
class DemoOptions:
    """What the demonstration takes."""

    out: Path = option(Path("demo"), "folder of the results, the report and the film", "DIR")


@options_command(DemoOptions)
def command(options: DemoOptions) -> None:
    """Teach a simulated snake to swim, with two algorithms and two seeds each: under two minutes on two cores.

    It ends with a report (tables and learning curves) and a film of the best policy.

    \b
    Example:
      erlbench demo
    """
    from erlbench.api import report, run
    from erlbench.errors import ErlbenchError, Interrupted, UsageError
    from erlbench.playing import play_run

    out, start = options.out, time.monotonic()
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is not a folder; choose another one by --out")
    message(f"{' and '.join(ALGOS)} learn {ENV}: {SEEDS} seeds each, {STEPS:,} steps a run.")
    try:
        results = run(
            ALGOS, ENV, seeds=SEEDS, total_timesteps=STEPS, eval_freq=20_000, eval_episodes=3,
            final_episodes=10, set={"hidden": (64, 64)}, out=str(out / "results"), quiet=False,
        )  # fmt: skip
    except Interrupted:
        raise Interrupted(f"interrupted. To go on: erlbench demo --out {shlex.quote(str(out))}") from None
    message("Writing the report and the film ...")
    page = report(out / "results", out=out / "report")
    cells = results.cells
    best = cells.sort_values("score").iloc[-1]
    film = out / ("swimmer.mp4" if find_spec("imageio_ffmpeg") else "swimmer.gif")
    written = f"{film} ({best['name']}, seed {best['seed']})"
    try:
        play_run(Path(best["path"]), steps=FILM_STEPS, video=film)
    except ErlbenchError as error:  # nothing can be drawn or written
        written = f"none: {error}"
    click.echo(f"\nDone in {time.monotonic() - start:.0f} s.")
    for name, scores in cells.groupby("name", sort=False)["score"]:
        click.echo(f"  {name:<10} final scores {', '.join(f'{score:,.0f}' for score in scores)}")
    click.echo(f"\n  Report  {page}\n  Film    {written}\n  Runs    {out / 'results'}")
    click.echo(f"\nNext: erlbench show {shlex.quote(str(out / 'results'))}\n      erlbench run --help")
