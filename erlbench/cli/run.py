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
from erlbench.experiment.arguments import RunArguments, arguments, run_options
from erlbench.experiment.cells import Cell
from erlbench.machine.resources import check_device
from erlbench.settings import describe_partial_settings
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
    is_larger = arguments(given)
    click.get_current_context().meta["verbose"] = is_larger.verbose
    from erlbench.experiment.command import requested_cells
    from erlbench.experiment.doubts import describe_evaluation, find_doubts, shorten_doubts
    from erlbench.running.admission import problems, rules_of
    from erlbench.running.refusals import useless_replays

    check_device(is_larger.device)
    rules = rules_of(run_options(is_larger, ()), () if is_larger.study else is_larger.algo)
    problem_of = problems(rules)
    cells = requested_cells(is_larger, problem_of)
    if not is_larger.quiet:
        lines = [*_describe_environments(cells, rules), *_describe_kept(cells)]
        lines += describe_partial_settings(is_larger.set, {cell.name: cell.settings for cell in cells})
        replays = useless_replays(cells) if is_larger.save_replay else {}
        useless = "--save-replay has no effect, as such a run cannot be extended"
        lines += [f"warning: {name}: {useless}: {reason}" for name, reason in replays.items()]
        doubts = find_doubts(cells, problem_of)
        texts = [text for _, text in doubts] if is_larger.verbose else shorten_doubts(doubts)
        lines += [f"warning: {text}" for text in texts]
        lines.append(describe_evaluation(cells, problem_of))
        if not is_larger.dry_run:
            lines.append(_differences(cells))
        for line in filter(None, lines):
            message(line)
    options = run_options(is_larger, ("erlbench", *sys.argv[1:]))
    if is_larger.dry_run:
        from erlbench.cli.dry_run import show_plan

        show_plan(cells, options)
        return
    if is_larger.slurm:
        from erlbench.launch.slurm import launch

        click.get_current_context().exit(launch(cells, options, is_larger.slurm))
    from erlbench.running.command import run_cells

    if is_larger.tensorboard:
        message(f"live curves: tensorboard --logdir {shlex.join(dict.fromkeys(str(cell.out) for cell in cells))}")
    if len(cells) > 1 and not is_larger.quiet:
        from erlbench.cli.dry_run import trust, wall
        from erlbench.running.scheduling import schedule_of

        schedule = schedule_of(cells, options)
        if waiting := sum(not share.done for share in schedule.shares):
            about = f"{counted(waiting, 'run')}, about {wall(schedule, options)}"
            message(f"{about} on a machine with nothing else to do ({trust(cells)})")
    click.get_current_context().exit(run_cells(cells, options))


def _describe_environments(cells: Sequence[Cell], rules: Rules) -> dict[str, None]:
    """What there is to know of environments; of the suite's own only what their models have that will go."""
    from erlbench.envs.catalogue import LISTED, split_preset
    from erlbench.running.admission import admitted

    lines: dict[str, None] = {}
    for cell in cells:
        with contextlib.suppress(ErlbenchError):
            trial = admitted(cell.env, cell.env_settings, rules)
            described = trial.described if split_preset(cell.env)[0] in LISTED else None
            lines |= dict.fromkeys(described.deprecated if described else trial.lines(cell.env))
    return lines


def _differences(cells: Sequence[Cell]) -> str:
    """In what the algorithms differ besides their ideas, in a line; empty for one algorithm, or where nothing does."""
    from erlbench.experiment.fairness import compare_algorithms

    names, lines = compare_algorithms(cell.config() for cell in cells)
    if not lines:
        return ""
    if len(names) > MOST_COMPARED:
        return f"not equal in the {len(names)} algorithms: {'; '.join(lines)}"
    differing = "; ".join(f"{aspect} {' | '.join(texts)}" for aspect, texts in lines.items())
    return f"not equal in {' | '.join(names)}: {differing}"


def _describe_kept(cells: Sequence[Cell]) -> Iterator[str]:
    """Which values of folders win over defaults and presets of today."""
    folders: dict[tuple[str, ...], list[Path]] = {}
    for cell in cells:
        if cell.kept:
            folders.setdefault(cell.kept, []).append(cell.directory)
    for kept, (first, *others) in folders.items():
        more = f" and {len(others)} more" if others else ""
        further = f" and {len(kept) - MOST_KEPT} more" if len(kept) > MOST_KEPT else ""
        yield f"{first}{more} keeps its own values: {'; '.join(kept[:MOST_KEPT])}{further}"


command = OptionsCommand("run", RunArguments, callback=run, help=run.__doc__)
