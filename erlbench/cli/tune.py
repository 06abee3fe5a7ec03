"""`erlbench tune`: search hyper-parameters with Optuna."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import click

from erlbench.errors import UsageError
from erlbench.machine.resources import cores

FIRST_SEED = 1000  # of trials: other seeds than those of the runs that are reported


@click.command()
@click.option("--algo", required=True, metavar="NAME", help="the algorithm, as NAME or NAME@PRESET")
@click.option("--env", required=True, metavar="ID", help="the environment")
@click.option("--search", multiple=True, required=True, metavar="SETTING=RANGE",
              help="a setting to search, in LOW..HIGH, LOW..HIGH:log or A,B,C; repeatable")  # fmt: skip
@click.option("--set", "fixed", multiple=True, metavar="KEY=VALUE", help="a fixed setting")
@click.option("--trials", default=20, show_default=True, metavar="N", type=click.IntRange(min=1), help="trials in all")
@click.option("--seeds", default=2, show_default=True, metavar="N", type=click.IntRange(min=1), help="runs per trial")
@click.option("--total-timesteps", default="100000", show_default=True, metavar="N", help="training steps per run")
@click.option("--eval-freq", metavar="N",
              help="training steps between evaluations; each may prune the trial [default: a tenth]")  # fmt: skip
@click.option("--processes", metavar="N", type=click.IntRange(min=0), help="worker processes [default: the cores]")
@click.option("--out", default="tuning", show_default=True, metavar="DIR", type=click.Path(path_type=Path),
              help="folder of the trials, of optuna.db and of best.toml")  # fmt: skip
def command(
    algo: str, env: str, search: tuple[str, ...], fixed: tuple[str, ...], trials: int, seeds: int,
    total_timesteps: str, eval_freq: str | None, processes: int | None, out: Path,
) -> None:  # fmt: skip
    """Search settings of an algorithm with Optuna (pip install 'erlbench[tune]').

    A trial trains the same settings with several seeds, from 1000 on. Its value is the mean final score. Bad trials are
    stopped early, but not with --processes 0. After Ctrl-C the same command goes on. best.toml holds the cost of the
    search: report it with any result of these settings.

    \b
    Example:
      erlbench tune --algo cem --env Swimmer-v5 \\
        --search initial_variance=1e-4..1e-1:log --search population=6..40
    """
    if find_spec("optuna") is None:
        raise UsageError("tuning needs a package: pip install 'erlbench[tune]'")
    from erlbench.algorithms import registry
    from erlbench.experiment.arguments import arguments
    from erlbench.experiment.cells import RunOptions
    from erlbench.experiment.command import requested_cells
    from erlbench.running.admission import Rules, problems
    from erlbench.tuning import parse_space, tune

    name = algo.partition("@")[0]
    space = parse_space(search, registry.find(name).settings_type, name)
    budget = arguments({"total_timesteps": total_timesteps}).total_timesteps
    given = {
        "algo": (algo,), "env": (env,), "set": fixed, "seeds": f"{FIRST_SEED}-{FIRST_SEED + seeds - 1}",
        "total_timesteps": total_timesteps, "eval_freq": eval_freq or str(max(1, (budget or 0) // 10)),
        "evaluate": "during",
        "out": str(out),
    }  # fmt: skip
    options = RunOptions(processes=cores() if processes is None else processes, verbosity=-1,
                         command_line=("erlbench", "tune"))  # fmt: skip
    asked = arguments(given)
    cells = requested_cells(asked, problems(Rules()))
    if len({cell.env for cell in cells}) > 1:
        raise UsageError(f"one environment is tuned at a time, not {env}")
    tuned = tune(cells, space, asked.set, trials, out, options, lambda text: click.echo(text, err=True))
    found = ", ".join(f"{key}={value}" for key, value in tuned.settings.items())
    click.echo(f"best: {found}\nmean final score {tuned.score:,.1f}; {tuned.budget}")
    click.echo(f"Next, with seeds that the search has not seen: erlbench run --config {tuned.config} --seeds 10 "
               "--name tuned")  # fmt: skip
