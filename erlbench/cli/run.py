"""`erlbench run`: train algorithms on environments, or the cells of studies."""

from __future__ import annotations

from typing import Any

import click

from erlbench.cli.options import OptionsCommand
from erlbench.experiment.arguments import RunArguments, arguments


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
    run_arguments, context = arguments(given), click.get_current_context()
    context.meta["verbose"] = run_arguments.verbose
    from erlbench.cli.start import start_cells

    context.exit(start_cells(run_arguments))


command = OptionsCommand("run", RunArguments, callback=run, help=run.__doc__)
