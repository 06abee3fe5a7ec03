"""`erlbench run`: train algorithms on environments, or the cells of studies."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from erlbench.cli import message
from erlbench.cli.options import OptionsCommand
from erlbench.errors import ErlbenchError
from erlbench.experiment.arguments import RunArguments, arguments
from erlbench.experiment.cells import Cell
from erlbench.machine.process import check_device
from erlbench.settings import list_settings
from erlbench.words import counted

if TYPE_CHECKING:
    from erlbench.running.admission import Rules

MOST_COMPARED = 4  # algorithms whose values are named
MOST_KEPT = 6  # values of a folder that are named


def run(**given: Any) -> None:
    """Train algorithms on environments, or run the cells of studies.

    The results of a cell (algorithm, environment, seed) go to OUT/ENV/NAME/seed-NNN. The same command again continues
    what was interrupted and leaves alone what is done. A setting is taken from the command line, else from
    --config, else from the preset, else it is the default.

    \b
    Examples:
      erlbench run --algo cem --env InvertedPendulum-v5 --total-timesteps 50000
      erlbench run --algo aes-rl --env Walker2d-v5 --total-timesteps 100000
      erlbench run --algo td3,cem-rl --env Walker2d-v5,Hopper-v5 --seeds 10
      erlbench run --algo cem --env Swimmer-v5 --set initial_variance=1e-2
      erlbench run --algo cem@no-extra-division --env Walker2d-v5@paper --jobs 4
      erlbench run --study aes-rl-table-1 --profile smoke --dry-run
      erlbench run --config results/Hopper-v5/td3/seed-000/config.toml --seeds 1,
    """
    asked = arguments(given)
    click.get_current_context().meta["verbose"] = asked.verbose
    from erlbench.experiment.command import requested_cells, run_options
    from erlbench.running.admission import problem_finder, rules_of

    check_device(asked.device)
    options = run_options(asked, ("erlbench", *sys.argv[1:]))
    rules = rules_of(options, () if asked.study else asked.algo)
    problem_of = problem_finder(rules)
    cells = requested_cells(asked, problem_of)
    if not asked.quiet:
        for line in _describe(cells, asked, rules):
            message(line)
    if asked.dry_run:
        from erlbench.cli.dry_run import show_plan

        show_plan(cells, options)
        return
    if asked.slurm:
        from erlbench.launch.slurm import launch

        click.get_current_context().exit(launch(cells, options, asked.slurm))
    from erlbench.running.command import run_cells, schedule_cells

    if asked.tensorboard:
        message(f"live curves: tensorboard --logdir {shlex.join(dict.fromkeys(str(cell.out) for cell in cells))}")
    schedule = schedule_cells(cells, options)
    if len(cells) > 1 and not asked.quiet:
        from erlbench.cli.dry_run import trust, wall

        if waiting := sum(not share.done for share in schedule.shares):
            about = f"{counted(waiting, 'run')}, about {wall(schedule, options)}"
            message(f"{about} on a machine with nothing else to do ({trust(cells)})")
    click.get_current_context().exit(run_cells(cells, options, schedule))


def _describe(cells: Sequence[Cell], asked: RunArguments, rules: Rules) -> Iterator[str]:
    """What there is to know of the cells before they run."""
    from erlbench.envs.catalogue import LISTED, split_preset
    from erlbench.experiment.estimate import find_doubts, shorten_doubts
    from erlbench.experiment.fairness import compare_algorithms
    from erlbench.running.admission import admit, problem_finder
    from erlbench.running.refusals import useless_replays

    lines: dict[str, None] = {}  # on environments; of the suite's own only what their models have that will go
    folders: dict[tuple[str, ...], list[Path]] = {}  # by their values that win over defaults and presets of today
    for cell in cells:
        with contextlib.suppress(ErlbenchError):
            trial = admit(cell.env, cell.env_settings, rules)
            described = trial.described if split_preset(cell.env)[0] in LISTED else None
            lines |= dict.fromkeys(described.deprecated if described else trial.lines(cell.env))
        if cell.kept:
            folders.setdefault(cell.kept, []).append(cell.directory)
    yield from lines
    for kept, (first, *others) in folders.items():
        more = f" and {len(others)} more" if others else ""
        further = f" and {len(kept) - MOST_KEPT} more" if len(kept) > MOST_KEPT else ""
        yield f"{first}{more} keeps its own values: {'; '.join(kept[:MOST_KEPT])}{further}"
    settings = {cell.name: list_settings(cell.settings) for cell in cells}
    for key in asked.set:
        having = [name for name in settings if key in settings[name]]
        if having and (lacking := [name for name in settings if name not in having]):
            yield f"--set {key} is for {', '.join(having)}; {', '.join(lacking)} has no such setting"
    for name, reason in (useless_replays(cells) if asked.save_replay else {}).items():
        yield f"warning: {name}: --save-replay has no effect, as such a run cannot be extended: {reason}"
    doubts = find_doubts(cells, problem_finder(rules))
    yield from (line for _, line in doubts) if asked.verbose else shorten_doubts(doubts)
    names, differing = compare_algorithms(cell.config() for cell in cells)
    if asked.dry_run or not differing:
        return
    if len(names) > MOST_COMPARED:
        yield f"not equal in the {len(names)} algorithms: {'; '.join(differing)}"
    else:
        values = "; ".join(f"{aspect} {' | '.join(texts)}" for aspect, texts in differing.items())
        yield f"not equal in {' | '.join(names)}: {values}"


command = OptionsCommand("run", RunArguments, callback=run, help=run.__doc__)
