"""What `erlbench run --dry-run` prints: settings, time and memory of the cells."""

from __future__ import annotations

from collections.abc import Sequence

import click

from erlbench.cli import message
from erlbench.cli.tables import duration, print_table, setting_texts, size
from erlbench.experiment.cells import Cell, RunOptions
from erlbench.experiment.estimate import never_timed
from erlbench.experiment.fairness import compare_algorithms
from erlbench.experiment.schedule import CellSchedule
from erlbench.running.command import schedule_cells
from erlbench.settings import toml_values
from erlbench.words import counted

Settings = tuple[tuple[str, str], ...]  # names and values


def show_plan(cells: Sequence[Cell], options: RunOptions) -> None:
    """Print resolved settings, time and memory, and write nothing."""
    _print_settings(cells)
    names, lines = compare_algorithms(cell.config() for cell in cells)
    if lines:
        differing = [(aspect, *texts) for aspect, texts in lines.items()]
        print_table("What differs besides the ideas", ("what", *names), differing)
    schedule = schedule_cells(cells, options)
    rows = []
    for cell, share in zip(cells, schedule.shares, strict=True):
        budget = [f"{cell.total_timesteps:,}"] if cell.total_timesteps else []
        if cell.total_minutes is not None:
            budget.append(f"{cell.total_minutes:g} modelled minutes")
        processes = "-" if share.done else "all free" if share.processes is None else share.processes
        time = "done" if share.done else duration(share.seconds)
        rows.append((cell.directory, " and ".join(budget), cell.workers or "-", processes, time))
    print_table(counted(len(cells), "cell"), ("directory", "steps", "workers", "processes", "time"), rows)
    forecast = schedule.forecast()
    core_seconds = sum(share.core_seconds for share in schedule.shares)
    click.echo()
    message(
        f"Estimates, {trust(cells)}: {wall(schedule, options)} ({duration(core_seconds)} of one core), "
        f"{size(forecast.memory)} of memory, {size(forecast.disk)} of disk for the replay.",
        err=False,
    )
    click.echo("Nothing was run or written.")


def trust(cells: Sequence[Cell]) -> str:
    """How far the estimates of cells can be trusted."""
    if unknown := never_timed(cells):
        what = unknown[0] if len(unknown) == 1 else f"{unknown[0]} and {counted(len(unknown) - 1, 'more environment')}"
        return f"rough, as nobody has timed a step of {what} (HalfCheetah's is taken)"
    return "right within a factor of two or so"


def wall(schedule: CellSchedule, options: RunOptions) -> str:
    """How long all cells take, and how many of them run at once."""
    forecast, cores = schedule.forecast(), options.processes
    work = sum(share.core_seconds for share in schedule.shares) / max(1, cores)
    by = counted(cores, "core") if options.jobs is None else counted(cores, "process", "processes")
    return f"{duration(max(forecast.seconds, work))} with {by} and {counted(forecast.at_once, 'cell')} at once"


def _print_settings(cells: Sequence[Cell]) -> None:
    """Print the settings of each algorithm: all those of its first cells, of the others what differs from these."""
    groups: dict[tuple[str, str, Settings], dict[str, None]] = {}  # environments by algorithm, name and settings
    for cell in cells:
        own = {f"environment's {name}": value for name, value in cell.env_settings.items()}
        settings = tuple(setting_texts({**toml_values(cell.settings), **own}))
        groups.setdefault((cell.algo, cell.name, settings), {})[cell.env] = None
    first: dict[str, Settings] = {}  # of each algorithm
    for (algo, name, settings), envs in groups.items():
        where = f"{name if name.startswith(algo) else f'{name} ({algo})'} on {', '.join(envs)}"
        if first.setdefault(algo, settings) is settings:
            print_table(f"Settings of {where}", ("setting", "value"), settings)
        else:
            differing = [f"{key}={value}" for key, value in settings if (key, value) not in first[algo]]
            click.echo(f"\n{where}: as above{', but ' * bool(differing)}{', '.join(differing)}")
