"""What `erlbench run --dry-run` prints: settings, time and memory of the cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from erlbench.experiment.cells import Cell, RunOptions
from erlbench.words import counted

if TYPE_CHECKING:
    from erlbench.experiment.schedule import Schedule


def show_plan(cells: Sequence[Cell], options: RunOptions) -> None:
    """Print resolved settings, time and memory, and write nothing."""
    from erlbench.cli import message
    from erlbench.cli.tables import duration, print_table, size
    from erlbench.running.scheduling import schedule_of

    _print_settings(cells)
    _print_differences(cells)
    schedule = schedule_of(cells, options)
    rows = []
    for cell, share in zip(cells, schedule.shares, strict=True):
        processes = "all free" if share.processes is None else share.processes
        time = "done" if share.done else duration(share.seconds)
        rows.append((cell.directory, _budget(cell), cell.workers or "-", "-" if share.done else processes, time))
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


def _print_differences(cells: Sequence[Cell]) -> None:
    """What differs between the algorithms, where there are several."""
    from erlbench.cli.tables import print_table
    from erlbench.experiment.fairness import compare_algorithms

    names, lines = compare_algorithms(cell.config() for cell in cells)
    if lines:
        rows = [(aspect, *texts) for aspect, texts in lines.items()]
        print_table("What differs besides the ideas", ("what", *names), rows)
        click.echo()


def _budget(cell: Cell) -> str:
    """Steps, and modelled minutes where there are some."""
    steps = f"{cell.total_timesteps:,}" if cell.total_timesteps else ""
    minutes = f"{cell.total_minutes:g} modelled minutes" if cell.total_minutes is not None else ""
    return " and ".join(filter(None, (steps, minutes)))


def trust(cells: Sequence[Cell]) -> str:
    """How far the estimates of cells can be trusted."""
    from erlbench.experiment.estimate import never_timed

    if unknown := never_timed(cells):
        what = unknown[0] if len(unknown) == 1 else f"{unknown[0]} and {counted(len(unknown) - 1, 'more environment')}"
        return f"rough, as nobody has timed a step of {what} (HalfCheetah's is taken)"
    return "right within a factor of two or so"


def wall(schedule: Schedule, options: RunOptions) -> str:
    """How long all cells take, and how many of them run at once."""
    from erlbench.cli.tables import duration

    forecast, cores = schedule.forecast(), options.processes
    work = sum(share.core_seconds for share in schedule.shares) / max(1, cores)
    by = counted(cores, "core") if options.jobs is None else counted(cores, "process", "processes")
    return f"{duration(max(forecast.seconds, work))} with {by} and {counted(forecast.at_once, 'cell')} at once"


def _print_settings(cells: Sequence[Cell]) -> None:
    """Print the settings: once those of all algorithms, then those of each, then what differs among its cells."""
    from erlbench.cli.tables import print_table

    columns, groups = ("setting", "value"), _settings_groups(cells)
    algorithms = list(dict.fromkeys(group.algo for group in groups))
    general = _shared(groups) if len(algorithms) > 1 else []
    if general:
        print_table("Settings of all algorithms", columns, general)
        click.echo()
    for algo in algorithms:
        own = [group for group in groups if group.algo == algo]
        shared = [item for item in _shared(own) if item not in general]
        names = ", ".join(dict.fromkeys(group.title for group in own))
        envs = ", ".join(dict.fromkeys(env for group in own for env in group.envs))
        further = "Further settings" if general else "Settings"
        if shared:
            print_table(f"{further} of {names} on {envs}", columns, shared)
            click.echo()
        rows = []
        for group in own:
            rest = [item for item in group.settings if item not in shared and item not in general]
            rows.append(
                (f"{group.title} on {', '.join(group.envs)}", ", ".join(f"{key}={value}" for key, value in rest))
            )
        if len(own) > 1:
            print_table(f"Settings in which the cells of {algo} differ", ("cells", "settings"), rows)
            click.echo()


@dataclass
class _SettingsGroup:
    """The environments on which one algorithm has the same settings."""

    algo: str
    name: str
    settings: list[tuple[str, str]]
    envs: list[str]

    @property
    def title(self) -> str:
        """The name, with the algorithm where it does not begin with it."""
        return self.name if self.name.startswith(self.algo) else f"{self.name} ({self.algo})"


def _settings_groups(cells: Sequence[Cell]) -> list[_SettingsGroup]:
    from erlbench.cli.tables import setting_texts
    from erlbench.settings import toml_values

    groups: dict[tuple[Any, ...], _SettingsGroup] = {}
    for cell in cells:
        of_env = {f"environment's {name}": value for name, value in cell.env_settings.items()}
        settings = setting_texts({**toml_values(cell.settings), **of_env})
        group = groups.setdefault((cell.name, *settings), _SettingsGroup(cell.algo, cell.name, settings, []))
        if cell.env not in group.envs:
            group.envs.append(cell.env)
    return list(groups.values())


def _shared(groups: Sequence[_SettingsGroup]) -> list[tuple[str, str]]:
    """The settings that all groups have with the same value."""
    return [item for item in groups[0].settings if all(item in group.settings for group in groups)]
