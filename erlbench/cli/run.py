"""`erlbench run`: train algorithms on environments, or the cells of studies."""

from __future__ import annotations

import contextlib
import dataclasses
import shlex
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from erlbench.cli.options import OptionsCommand
from erlbench.errors import ErlbenchError, UsageError
from erlbench.experiment import shards
from erlbench.experiment.arguments import arguments, run_options
from erlbench.experiment.cells import Cell, RunOptions
from erlbench.experiment.options import RunArguments
from erlbench.experiment.shards import Shard
from erlbench.launch.options import LaunchOptions, check_launcher
from erlbench.machine.resources import check_device
from erlbench.words import counted

if TYPE_CHECKING:
    from erlbench.running.admission import Rules

MOST_COMPARED = 4  # algorithms whose values are named
MOST_KEPT = 6  # values of a folder that are named


def run(**given: Any) -> None:
    """Train algorithms on environments, or run the cells of studies.

    The results of a cell (algorithm, environment, seed) go to OUT/ENV/NAME/seed-NNN. The same command again continues
    what was interrupted and leaves alone what is done. A setting is taken from the command line, else from
    --config, else from --preset, else it is the default.

    \b
    Examples:
      erlbench run --algo cem --env InvertedPendulum-v5 --total-timesteps 50000
      erlbench run --algo aes-rl --env Walker2d-v5 --total-timesteps 100000
      erlbench run --algo td3,cem-rl --env Walker2d-v5,Hopper-v5 --seeds 10
      erlbench run --algo cem --env Swimmer-v5 --set initial_variance=1e-2
      erlbench run --algo cem@no-extra-division --env Walker2d-v5@paper --jobs 4
      erlbench run --study aes-rl-table-1 --profile smoke --dry-run
      erlbench run --config results/Hopper-v5/td3/seed-000/config.toml --seed 1
    """
    asked = arguments(given)
    click.get_current_context().meta["verbose"] = asked.verbose
    from erlbench.experiment.before import doubts, in_short
    from erlbench.experiment.command import requested_cells
    from erlbench.running.admission import problems, rules_of

    check_device(asked.device)
    if asked.launcher is not None:
        check_launcher(asked.launcher)
    rules = rules_of(run_options(asked, ()))
    problem_of = problems(rules)
    cells, part = requested_cells(asked, problem_of), ""
    if asked.shard is not None:
        part = shards.configuration_hash(cells, budget=False)
        cells = _shard(cells, asked.shard, part, asked)
        if not cells:
            return  # this part is empty
    if not asked.quiet:
        _name_remarks(cells, rules)
        _name_kept(cells)
        if asked.save_replay:
            _name_useless_replays(cells)
        found = doubts(cells, problem_of)
        lines = map(str, found) if asked.verbose else in_short(found)
        for line in lines:
            _message(f"warning: {line}")
        if not asked.dry_run and (line := _differences(cells)):
            _message(line)
    options = run_options(asked, ("erlbench", *sys.argv[1:]), part)
    if asked.dry_run:
        from erlbench.cli.dry_run import show_plan

        show_plan(cells, options)
        return
    if asked.launcher is not None:
        click.get_current_context().exit(_launch(cells, options, asked))
    from erlbench.running.runner import run_cells

    if asked.tensorboard:
        _message(f"live curves: tensorboard --logdir {shlex.join(dict.fromkeys(str(cell.out) for cell in cells))}")
    if len(cells) > 1 and not asked.quiet:
        from erlbench.cli.dry_run import trust, wall
        from erlbench.running.scheduling import schedule_of

        schedule = schedule_of(cells, options)
        if waiting := sum(not share.done for share in schedule.shares):
            about = f"{counted(waiting, 'run')}, about {wall(schedule, options)}"
            _message(f"{about} on a machine with nothing else to do ({trust(cells)})")
    click.get_current_context().exit(run_cells(cells, options))


def _launch(cells: Sequence[Cell], options: RunOptions, asked: RunArguments) -> int:
    """Run or submit the cells by another engine."""
    from erlbench.launch.jobs import launch
    from erlbench.launch.queue import LOGS

    assert asked.launcher is not None
    if asked.processes is None:
        options = dataclasses.replace(options, processes=1)
    elif asked.launcher == "slurm":
        raise UsageError("--processes is for this machine; a Slurm job has --slurm-cpus worker processes")
    how = LaunchOptions(asked.launcher, cells[0].out / LOGS, asked.slurm, asked.jobs)
    return launch(cells, options, how)


def _costs(cells: Sequence[Cell]) -> Callable[[Cell], float]:
    """Core seconds of a cell, estimated by rules that are the same on all machines."""
    from erlbench.experiment.estimate import estimator
    from erlbench.running.admission import Rules, problems

    estimated = estimator(problems(Rules(unrepeatable=True)))
    seconds = {cell.directory: estimated(cell, 1).core_seconds for cell in cells}
    return lambda cell: seconds[cell.directory]


def _message(line: str) -> None:
    """Print to standard error; nobody may be reading it any more, and that fails no training."""
    from erlbench.cli import message

    with contextlib.suppress(OSError):
        message(line)


def _name_remarks(cells: Sequence[Cell], rules: Rules) -> None:
    """Say what the user should know of environments; of the suite's own only what their models have that will go."""
    from erlbench.envs.catalogue import LISTED, split_preset
    from erlbench.running.admission import admitted

    lines: dict[str, None] = {}
    for cell in {(cell.env, repr(cell.env_settings)): cell for cell in cells}.values():
        with contextlib.suppress(ErlbenchError):
            found = admitted(cell.env, cell.env_settings, rules)
            own = found.described if split_preset(cell.env)[0] in LISTED else None
            lines |= dict.fromkeys(own.deprecated if own else found.lines(cell.env))
    for line in lines:
        _message(line)


def _differences(cells: Sequence[Cell]) -> str:
    """In what the algorithms differ besides their ideas, in a line; empty for one algorithm, or where nothing does."""
    if len({cell.name for cell in cells}) < 2:
        return ""
    from erlbench.experiment.fairness import fairness_sheet

    sheet = fairness_sheet(cell.config() for cell in cells)
    few = len(sheet.names) <= MOST_COMPARED
    found = [f"{line.aspect} {' | '.join(line.values)}" if few else line.aspect for line in sheet.differing]
    if not found:
        return ""
    names = " | ".join(sheet.names) if few else f"the {len(sheet.names)} algorithms"
    return f"not equal in {names}: {'; '.join(found)} (--same makes settings equal)"


def _name_kept(cells: Sequence[Cell]) -> None:
    """Say which values of folders win over defaults and presets of today."""
    folders: dict[tuple[str, ...], list[Cell]] = {}
    for cell in cells:
        if cell.origin and cell.origin.kept:
            folders.setdefault(cell.origin.kept, []).append(cell)
    for kept, those in folders.items():
        more = f" and {len(those) - 1} more" if len(those) > 1 else ""
        further = f" and {len(kept) - MOST_KEPT} more" if len(kept) > MOST_KEPT else ""
        _message(f"{those[0].directory}{more} keeps its own values: {'; '.join(kept[:MOST_KEPT])}{further}")


def _name_useless_replays(cells: Sequence[Cell]) -> None:
    """Say which runs --save-replay does nothing for."""
    from erlbench.running.extension import useless_replays

    for name, reason in useless_replays(cells).items():
        _message(f"warning: {name}: --save-replay has no effect, as such a run cannot be extended: {reason}")


def _shard(cells: Sequence[Cell], shard: Shard, plan: str, asked: RunArguments) -> list[Cell]:
    """The cells of one shard; shards of another plan in the same folder are refused."""
    from erlbench.running.results import RunDirectory

    if not asked.force:
        shards.check_version(cells, shard, plan, lambda path: RunDirectory(path).meta())
    parts = shards.split(cells, shard.of, _costs(cells))
    if not asked.quiet:
        _message(f"shard {shard}: {len(parts[shard.number - 1])} of {counted(len(cells), 'cell')}")
    return parts[shard.number - 1]


command = OptionsCommand("run", RunArguments, callback=run, help=run.__doc__)
