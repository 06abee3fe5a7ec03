"""`erlbench tune`: search hyper-parameters with Optuna."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from erlbench.cli import message
from erlbench.cli.options import options_command
from erlbench.cli.tables import settings_line
from erlbench.errors import UsageError
from erlbench.experiment.arguments import MOST_SEEDS, RunArguments
from erlbench.options import option, shared_option

FIRST_SEED = 1000  # of trials: not the seeds of the reported runs


@dataclass(frozen=True)
class TuneOptions:
    """The search and its runs."""

    algo: tuple[str, ...] = option(MISSING, "the algorithm, as NAME or NAME@PRESET", "NAME")
    env: tuple[str, ...] = option(MISSING, "the environment, as ID or ID@PRESET", "ID")
    search: Mapping[str, str] = option(
        MISSING, "a setting to search, in LOW..HIGH, LOW..HIGH:log or A,B,C; repeatable", "SETTING=RANGE"
    )
    set: Mapping[str, Any] = shared_option(RunArguments, "set", help="a fixed setting")
    env_set: Mapping[str, Any] = shared_option(
        RunArguments, "env_set", help="a setting of the environment, such as max_episode_steps=200"
    )
    trials: int = option(20, "trials in all", minimum=1)
    seeds: int = option(2, "runs per trial", minimum=1, maximum=MOST_SEEDS)
    total_timesteps: int = shared_option(RunArguments, "total_timesteps", 100_000, help="training steps per run")
    eval_freq: int | None = shared_option(
        RunArguments, "eval_freq", help="training steps between evaluations [default: a tenth]"
    )
    processes: int | None = shared_option(RunArguments, "processes", help="worker processes [default: the cores]")
    out: Path = option(Path("tuning"), "folder of the trials, of optuna.db and of best.toml", "DIR")

    def __post_init__(self) -> None:
        for flag, names in (("--algo", self.algo), ("--env", self.env)):
            if len(names) > 1:
                raise UsageError(f"{flag}: one is tuned at a time, not {', '.join(names)}")


@options_command(TuneOptions)
def command(options: TuneOptions) -> None:
    """Search settings of an algorithm with Optuna (pip install 'erlbench[tune]').

    A trial trains the same settings with several seeds, from 1000 on. Its value is the mean final score. After Ctrl-C
    the same command goes on. best.toml holds the cost of the search: report it with any result of these settings.

    \b
    Example:
      erlbench tune --algo cem --env Swimmer-v5 \\
        --search initial_variance=1e-4..1e-1:log --search population=6..40
    """
    if find_spec("optuna") is None:
        raise UsageError("tuning needs a package: pip install 'erlbench[tune]'")
    from erlbench.algorithms import registry
    from erlbench.experiment.arguments import arguments
    from erlbench.experiment.requested_cells import requested_cells, run_options
    from erlbench.running.admission import Rules, problem_finder
    from erlbench.tuning import first_values, parse_space, tune

    name = options.algo[0].partition("@")[0]
    space = parse_space(options.search, registry.find(name).settings_type, name)
    if twice := [key for key in options.set if key.rpartition(".")[2] in space]:
        raise UsageError(f"--set {twice[0]} is searched, too; leave it or --search out")
    given = {
        **{key: getattr(options, key) for key in ("algo", "env", "set", "env_set", "total_timesteps", "processes")},
        "seeds": f"{FIRST_SEED}-{FIRST_SEED + options.seeds - 1}",
        "eval_freq": options.eval_freq or max(1, options.total_timesteps // 10),
        "evaluate": "during",
        "out": str(options.out),
        "quiet": True,
    }
    request, find_problem = arguments(given), problem_finder(Rules())
    how = replace(run_options(request, ("erlbench", *sys.argv[1:])), jobs=1)
    try:
        cells = requested_cells(request, find_problem)
    except UsageError:  # of settings that are searched, perhaps
        trial = arguments({**given, "set": {**options.set, **first_values(space)}})
        cells = requested_cells(trial, find_problem)
    best, cost, file = tune(cells, space, request.set, options.trials, options.out, how, message)
    click.echo(
        f"best: {settings_line(best.params)}\nmean final score {best.value:,.1f}; {cost}\n"
        f"Next, with seeds that the search has not seen: "
        f"erlbench run --config {shlex.quote(str(file))} --seeds 10 --name tuned"
    )
