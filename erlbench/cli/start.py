"""The start of `erlbench run`: it prints doubts, settings, time and memory of its cells, and runs them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import click

from erlbench.algorithms.registry import find
from erlbench.cli import message
from erlbench.envs.catalogue import LISTED, split_preset
from erlbench.errors import ErlbenchError
from erlbench.experiment.arguments import RunArguments
from erlbench.experiment.cells import Cell, RunOptions
from erlbench.experiment.estimate import find_doubts, never_timed, shorten_doubts
from erlbench.experiment.requested_cells import requested_cells, run_options
from erlbench.experiment.schedule import CellSchedule
from erlbench.machine.process import check_device
from erlbench.running.admission import Rules, admit, make_rules, problem_finder
from erlbench.running.command import run_cells, schedule_cells
from erlbench.running.folder import RunFolder
from erlbench.running.refusals import check_saved, useless_replays
from erlbench.settings import list_settings, toml_values
from erlbench.words import counted

MOST_COMPARED = 4  # algorithms whose values are named
Settings = tuple[tuple[str, str], ...]  # names and values


def start_cells(arguments: RunArguments) -> int:
    """Describe the cells of a command, and run them unless it is a dry run; the exit code."""
    check_device(arguments.device)
    options = run_options(arguments, ("erlbench", *sys.argv[1:]))
    rules = make_rules(options, () if arguments.study else arguments.algo)
    cells = requested_cells(arguments, problem_finder(rules))
    if not arguments.quiet:
        for line in _describe(cells, arguments, rules):
            message(line)
    if arguments.slurm:
        from erlbench.launch import slurm  # submitit

        parameters = slurm.submitit_parameters(arguments.slurm, options.jobs, cells)
        if not arguments.dry_run:
            return slurm.launch(cells, options, parameters)
    if arguments.dry_run:
        _show_plan(cells, options)
        return 0
    if arguments.tensorboard:
        message(f"live curves: tensorboard --logdir {shlex.join(dict.fromkeys(str(cell.out) for cell in cells))}")
    schedule = schedule_cells(cells, options)
    if len(cells) > 1 and not arguments.quiet and (waiting := sum(not share.done for share in schedule.shares)):
        about = f"{counted(waiting, 'run')}, about {say_duration(schedule, options)}"
        message(f"{about} on an idle machine; {_say_trust(cells)}")
    return run_cells(cells, options, schedule)


def _describe(cells: Sequence[Cell], arguments: RunArguments, rules: Rules) -> Iterator[str]:
    """What there is to know of the cells before they run."""
    lines: dict[str, None] = {}  # on environments that are not the suite's
    folders: dict[tuple[str, ...], list[Path]] = {}  # by their values that win over defaults and presets of today
    for cell in cells:
        if split_preset(cell.env)[0] not in LISTED:
            with suppress(ErlbenchError):
                lines |= dict.fromkeys(admit(cell.env, cell.env_settings, rules).lines(cell.env))
        if cell.kept:
            folders.setdefault(cell.kept, []).append(cell.directory)
    yield from lines
    for kept, (first, *others) in folders.items():
        suffix = f" and {len(others)} more" if others else ""
        yield f"{first}{suffix} keeps its own values: {'; '.join(kept)}"
    settings = {cell.name: list_settings(cell.settings) for cell in cells}
    for key in arguments.set:
        having = [name for name in settings if key in settings[name]]
        if having and (lacking := [name for name in settings if name not in having]):
            yield f"--set {key} is for {', '.join(having)}; {', '.join(lacking)} has no such setting"
    for cell in {cell.name: cell for cell in cells}.values():
        unread = find(cell.algo).without_effect(cell.settings)
        if idle := [key for key in arguments.set if key in settings[cell.name] and key in unread]:
            yield f"warning: {cell.name}: with its other settings, --set {', '.join(idle)} has no effect"
    for name, reason in (useless_replays(cells) if arguments.save_replay else {}).items():
        yield f"warning: {name}: --save-replay has no effect, as such a run cannot be extended: {reason}"
    doubts = find_doubts(cells, problem_finder(rules))
    yield from (line for _, line in doubts) if arguments.verbose else shorten_doubts(doubts)
    if len(settings) < 2:
        return
    from erlbench.experiment.fairness import compare_algorithms

    names, differing = compare_algorithms(cell.config() for cell in cells)
    if differing and len(names) > MOST_COMPARED:
        yield f"not equal in the {len(names)} algorithms: {'; '.join(differing)}"
    elif differing:
        values = "; ".join(f"{aspect} {' | '.join(texts)}" for aspect, texts in differing.items())
        yield f"not equal in {' | '.join(names)}: {values}"


def _show_plan(cells: Sequence[Cell], options: RunOptions) -> None:
    """Print resolved settings, time and memory, and write nothing; refuse what a run would refuse."""
    from erlbench.cli.tables import duration, print_table, setting_texts, size

    for cell in cells:
        if cell.directory.exists():
            check_saved(RunFolder(cell.directory), cell, options)
    groups: dict[tuple[str, str, Settings], dict[str, None]] = {}  # environments by algorithm, name and settings
    for cell in cells:
        env_settings = {f"environment's {name}": value for name, value in cell.env_settings.items()}
        settings = tuple(setting_texts({**toml_values(cell.settings), **env_settings}))
        groups.setdefault((cell.algo, cell.name, settings), {})[cell.env] = None
    first: dict[str, Settings] = {}  # of each algorithm
    for (algo, name, settings), envs in groups.items():
        where = f"{name if name.startswith(algo) else f'{name} ({algo})'} on {', '.join(envs)}"
        if first.setdefault(algo, settings) is settings:
            print_table(f"Settings of {where}", ("setting", "value"), settings)
        else:
            differing = [f"{key}={value}" for key, value in settings if (key, value) not in first[algo]]
            click.echo(f"\n{where}: as above{', but ' * bool(differing)}{', '.join(differing)}")
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
        f"About {say_duration(schedule, options)} ({duration(core_seconds)} of one core), {size(forecast.memory)} of "
        f"memory, {size(forecast.disk)} of disk for the replay; {_say_trust(cells)}.",
        err=False,
    )
    click.echo("Nothing was run or written.")


def _say_trust(cells: Sequence[Cell]) -> str:
    """How far the estimates of cells can be trusted."""
    if unknown := never_timed(cells):
        return f"rough: a step of {', '.join(unknown)} counts as one of HalfCheetah"
    return "right within a factor of two or so"


def say_duration(schedule: CellSchedule, options: RunOptions) -> str:
    """How long all cells take, and how many of them run at once."""
    from erlbench.cli.tables import duration

    forecast, cores = schedule.forecast(), options.processes
    work = sum(share.core_seconds for share in schedule.shares) / max(1, cores)
    by = counted(cores, "core") if options.jobs is None else counted(cores, "process", "processes")
    return f"{duration(max(forecast.seconds, work))} with {by} and {counted(forecast.at_once, 'cell')} at once"
