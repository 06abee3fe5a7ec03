"""`erlbench forecast`: minutes per million steps and staleness of a cell against the number of processes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from erlbench.experiment.cells import CRITIC, OWN, SHARED

if TYPE_CHECKING:
    from erlbench.experiment.cells import Cell
    from erlbench.experiment.costs import Costs

LEGEND = (
    "min/1e6: minutes per million training steps; after warm-up: the same from the first critic update on (–: none).",
    "critic/step: critic updates per training step; min/1e6 of them: minutes per million, after the warm-up.",
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
    help="take episode lengths from this run, or from all runs of the environment in this folder",
)
@click.option(
    "--lengths",
    metavar="WHAT",
    help="episode lengths in steps: N, uniform:MEAN, geometric:MEAN, or a file with one a line "
    "[default: those of initial policies, played now]",
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
@click.option("--critic", default=CRITIC, show_default=True, type=click.Choice([OWN, SHARED]),
              help="own: the critic has its own processor; shared: it uses one of the others")  # fmt: skip
def command(
    algo: str, env: str, assignments: tuple[str, ...], costs: Path | None, from_run: Path | None,
    lengths: str | None, processes: str, steps: int, critic: str,
) -> None:  # fmt: skip
    """Predict minutes per million steps and the staleness of individuals for several numbers of processes.

    The algorithm itself runs, with made-up results and as many workers as processes: an evolution strategy, cem-rl,
    p-cem-rl or aes-rl. Where the costs are those of another environment, the time of a step is scaled: both
    environments are played for a second. The last table shows the errors of such forecasts against measured runs.

    \b
    Examples:
      erlbench calibrate --algo aes-rl --env HalfCheetah-v5 --out costs.toml
      erlbench forecast --algo cem-rl,p-cem-rl,aes-rl --env HalfCheetah-v5 \\
        --costs costs.toml
    """
    from erlbench.cli import message
    from erlbench.cli.tables import print_table
    from erlbench.envs.registry import problem
    from erlbench.errors import UsageError
    from erlbench.experiment.arguments import arguments
    from erlbench.experiment.cells import with_workers
    from erlbench.experiment.command import requested_cells
    from erlbench.forecasting.environment import given_lengths, lengths_in, load_costs_of, of_this_environment
    from erlbench.forecasting.forecast import forecast
    from erlbench.forecasting.validation import errors_of
    from erlbench.running.admission import Rules, problems

    counts = _counts(processes)
    cells = requested_cells(arguments({"algo": tuple(algo.split(",")), "env": (env,), "set": assignments,
                            "total_timesteps": str(steps)}), problems(Rules()))  # fmt: skip
    if len({cell.env for cell in cells}) > 1:
        raise UsageError(f"one environment is forecast at a time, not {env}")
    if lengths and from_run:
        raise UsageError("--lengths and --from-run both say how long episodes are; leave one out")
    env, (known, measured_on) = cells[0].env, load_costs_of(costs)
    given = lengths_in(from_run, env) if from_run else None
    if lengths:
        given = given_lengths(lengths, problem(env, cells[0].env_settings), env)
    episodes, each = of_this_environment(cells, known, measured_on, given)
    rows = []
    for cell, own in zip(cells, each, strict=True):
        for count in counts:
            found = forecast(with_workers(cell, count), own, count, episodes.by_kind, critic)
            shown = (found.minutes, found.minutes_after, found.critic_per_step, found.minutes_per_updates,
                     found.staleness, found.staleness_90)  # fmt: skip
            rows.append((cell.name, str(count), *map(_number, shown), f"{found.busy:.0%}"))
    heads = ("algorithm", "processes", "min/1e6", "after warm-up", "critic/step", "min/1e6 of them", "staleness",
             "90 %", "busy")  # fmt: skip
    print_table(f"Forecast, {env}, critic {critic}, costs: {known.source}", heads, rows)
    message(f"Episodes: {episodes}.", err=False)
    message(f"Steps: {_steps(cells, known, each, measured_on)}.", err=False)
    for line in _other_updates(cells, measured_on):
        message(line, err=False)
    for line in LEGEND:
        message(line, err=False)
    click.echo()
    print_table(
        f"Errors of forecasts with --critic {SHARED} beside measured times",
        ("algorithm", "environment", "error on processes"),
        list(errors_of([cell.algo for cell in cells])),
    )


def _other_updates(cells: Sequence[Cell], measured_on: Mapping[str, Any]) -> Iterator[str]:
    """Which cells' updates are other ones than those that were measured; their costs are not scaled."""
    from erlbench.experiment.costs import UPDATES
    from erlbench.settings import toml_values

    for cell in cells:
        own = toml_values(cell.settings)
        differ = [
            name for name in UPDATES if {name} <= own.keys() & measured_on.keys() and own[name] != measured_on[name]
        ]
        if differ:
            here, there = (", ".join(f"{name} {known[name]}" for name in differ) for known in (own, measured_on))
            yield (
                f"Updates of {cell.name} cost what they do with {there}; it has {here}. `erlbench calibrate --algo "
                f"{cell.name}` measures its own, and --set makes them equal."
            )


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:,.2f}"


def _counts(text: str) -> list[int]:
    from erlbench.errors import UsageError

    parts = [part.strip() for part in text.split(",")]
    if not all(re.fullmatch(r"[0-9]{1,4}", part) and int(part) for part in parts):
        raise UsageError(f"--processes must be numbers from 1 to 9999, such as 1,2,4, not '{text}'")
    return list(dict.fromkeys(map(int, parts)))


def _steps(cells: Sequence[Cell], known: Costs, each: Sequence[Costs], measured_on: Mapping[str, Any]) -> str:
    """What a step of each cell takes, and where that is from; updates keep the costs of the file."""
    there = measured_on.get("env", "an environment that their file does not name")
    if all(costs == known for costs in each):
        return f"{1e3 * known.timestep:.3f} ms with the policy, as the costs say of {there}"
    texts = [f"{1e3 * costs.timestep:.3f} ms" for costs in each]
    if len(set(texts)) > 1:  # other networks
        texts = [f"{cell.name} {text}" for cell, text in zip(cells, texts, strict=True)]
    return (
        f"{', '.join(dict.fromkeys(texts))} with the policy: {1e3 * known.timestep:.3f} ms on {there}, times the ratio "
        "of both here; updates cost what they do there, see `erlbench calibrate`"
    )
