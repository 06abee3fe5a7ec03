"""`erlbench forecast`: minutes per million steps and staleness of a cell against the number of processes."""

from __future__ import annotations

import math
import re
from pathlib import Path

import click

LONGEST = 10**9  # steps of an episode
LEGEND = (
    "min/1e6: minutes per million training steps; after warm-up: the same from the first critic update on (–: none).",
    "critic/step: critic updates per training step.",
    "staleness: median number of updates between an individual's sampling and its use; 90 %: the 90 % quantile.",
    "busy: share of the time in which a process works.",
)


@click.command()
@click.option("--algo", required=True, metavar="NAME[,NAME...]", help="algorithms, as NAME or NAME@PRESET")
@click.option("--env", required=True, metavar="ID", help="the environment")
@click.option("--set", "assignments", multiple=True, metavar="KEY=VALUE", help="a hyper-parameter; repeatable")
@click.option(
    "--costs",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="measured durations, a file of `erlbench calibrate`",
)
@click.option(
    "--from-run",
    metavar="RUN",
    type=click.Path(path_type=Path),
    help="take episode lengths from this run [default: full]",
)
@click.option(
    "--processes",
    default="1,2,4,8,16,32,64",
    show_default=True,
    metavar="N[,N...]",
    help="numbers of processes to forecast",
)
@click.option(
    "--steps",
    default=100_000,
    show_default=True,
    metavar="N",
    type=click.IntRange(min=1),
    help="training steps to simulate",
)
@click.option("--critic", default="shared", show_default=True, type=click.Choice(["own", "shared"]),
              help="own: the critic has its own processor; shared: it uses one of the others")  # fmt: skip
def command(
    algo: str, env: str, assignments: tuple[str, ...], costs: Path | None, from_run: Path | None, processes: str,
    steps: int, critic: str,
) -> None:  # fmt: skip
    """Predict minutes per million steps and the staleness of individuals for several numbers of processes.

    The algorithm itself runs, with made-up results and as many workers as processes: an evolution strategy, cem-rl,
    p-cem-rl or aes-rl. The last table shows the errors of such forecasts against measured runs.

    \b
    Examples:
      erlbench calibrate --algo aes-rl --env HalfCheetah-v5 --out costs.toml
      erlbench forecast --algo cem-rl,p-cem-rl,aes-rl --env HalfCheetah-v5 \\
        --costs costs.toml
    """
    from erlbench.cli import tell
    from erlbench.cli.tables import print_table
    from erlbench.envs.registry import problem
    from erlbench.errors import UsageError
    from erlbench.experiment.arguments import arguments
    from erlbench.experiment.cells import with_workers
    from erlbench.experiment.costs import built_in_costs, load_costs
    from erlbench.experiment.planning import plan
    from erlbench.forecasting.forecast import forecast
    from erlbench.forecasting.validation import errors_of

    counts = _counts(processes)
    cells = plan(arguments({"algo": tuple(algo.split(",")), "env": (env,), "set": assignments,
                            "total_timesteps": str(steps)}))  # fmt: skip
    if len({cell.env for cell in cells}) > 1:
        raise UsageError(f"one environment is forecast at a time, not {env}")
    known = load_costs(costs) if costs else built_in_costs()
    lengths = _lengths(from_run) if from_run else [problem(cells[0].env, cells[0].env_settings).env.max_episode_steps]
    rows = []
    for cell in cells:
        for count in counts:
            found = forecast(with_workers(cell, count), known, count, lengths, critic)
            shown = (found.minutes, found.minutes_after, found.critic_per_step, found.staleness, found.staleness_90)
            rows.append((cell.name, str(count), *map(_number, shown), f"{found.busy:.0%}"))
    heads = ("algorithm", "processes", "min/1e6", "after warm-up", "critic/step", "staleness", "90 %", "busy")
    print_table(f"Forecast, {cells[0].env}, critic {critic}, costs: {known.source}", heads, rows)
    for line in LEGEND:
        tell(line, err=False)
    click.echo()
    print_table("Errors of such forecasts beside measured times", ("algorithm", "environment", "error on processes"),
                list(errors_of([cell.algo for cell in cells])))  # fmt: skip


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:,.2f}"


def _counts(text: str) -> list[int]:
    from erlbench.errors import UsageError

    parts = [part.strip() for part in text.split(",")]
    if not all(re.fullmatch(r"[0-9]{1,4}", part) and int(part) for part in parts):
        raise UsageError(f"--processes must be numbers from 1 to 9999, such as 1,2,4, not '{text}'")
    return list(dict.fromkeys(map(int, parts)))


def _lengths(run: Path) -> list[int]:
    """The lengths of a run's training episodes."""
    from erlbench.errors import UsageError
    from erlbench.files import read_rows, readable

    try:
        with readable(run / "episodes.csv"):
            found = [int(row["l"]) for row in read_rows(run / "episodes.csv")]
    except KeyError:
        raise UsageError(f"{run / 'episodes.csv'} has no column l") from None
    if any(not 1 <= length <= LONGEST for length in found):
        raise UsageError(f"{run / 'episodes.csv'} has episodes of less than one step, or of more than {LONGEST:,}")
    if not found:
        raise UsageError(f"{run / 'episodes.csv'} has no episode yet")
    return found
