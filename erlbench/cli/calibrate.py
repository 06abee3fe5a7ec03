"""`erlbench calibrate`: what tasks cost on this machine, for simulated time and forecasts."""

from __future__ import annotations

from pathlib import Path

import click

QUIET = 0.25  # cores that other programs may use on a quiet machine
OTHER = ("source", "crowding", "cores", "spread")  # what is no duration


@click.command()
@click.option("--algo", metavar="NAME", help="the algorithm, as NAME or NAME@PRESET")
@click.option("--env", metavar="ID", help="the environment")
@click.option("--set", "assignments", multiple=True, metavar="KEY=VALUE", help="a hyper-parameter; repeatable")
@click.option(
    "--from-run", metavar="RUN", type=click.Path(path_type=Path), help="take the tasks of this run instead of a new one"
)
@click.option("--seconds", default=10.0, show_default=True, metavar="SECONDS", type=click.FloatRange(min=1),
              help="time of each of six short runs: four on one process, two on all cores")  # fmt: skip
@click.option(
    "--out",
    default="costs.toml",
    show_default=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="file to write",
)
def command(
    algo: str | None, env: str | None, assignments: tuple[str, ...], from_run: Path | None, seconds: float, out: Path
) -> None:
    """Measure what the tasks of a cell cost on this machine: step, critic update, actor update, and a task's overhead.

    The machine should be quiet. The costs are those of one process that uses one core, alone; `crowding` is the factor
    by which they grow while all cores work, `update` the driver's work between two generations.

    \b
    Examples:
      erlbench calibrate --algo aes-rl --env HalfCheetah-v5 --out costs.toml
      erlbench calibrate --from-run results/HalfCheetah-v5/aes-rl/seed-000
      erlbench run --algo aes-rl --env HalfCheetah-v5 --simulated-time \\
        --costs costs.toml
    """
    from dataclasses import asdict

    from erlbench.cli.tables import print_table
    from erlbench.errors import UsageError
    from erlbench.experiment.arguments import arguments
    from erlbench.experiment.command import requested_cells
    from erlbench.experiment.costs import UPDATES
    from erlbench.forecasting.calibration import calibrate, check_costs_file, save_costs
    from erlbench.forecasting.costs_of_runs import from_tasks
    from erlbench.machine import description
    from erlbench.machine.resources import busy_cores, cores
    from erlbench.records.run import RunFiles, shared_cores
    from erlbench.running.admission import Rules, problems
    from erlbench.settings import toml_values
    from erlbench.words import counted

    described = {key: value for key, value in description.describe().items() if key not in ("gpus", "overrides")}
    if from_run is not None:
        if algo or env or assignments:
            raise UsageError("--from-run takes the run's own cell; leave --algo, --env and --set out")
        check_costs_file(out)
        if shared_cores(RunFiles(from_run).meta()):
            click.echo("warning: other cells used the cores of this run, so the costs may be too high", err=True)
        costs, cell = from_tasks(from_run), {"run": str(from_run)}
    else:
        if not algo or not env:
            raise UsageError(
                "nothing to measure: give --algo and --env, or --from-run; see `erlbench calibrate --help`"
            )
        cells = requested_cells(arguments({"algo": algo, "env": env, "set": assignments}), problems(Rules()))
        if len(cells) != 1:
            raise UsageError("one cell is measured at a time; give one --algo and one --env")
        check_costs_file(out)
        if (busy := busy_cores()) > QUIET:
            click.echo(
                f"warning: other programs use {busy:.1f} of {counted(cores(), 'core')}, so the costs may be wrong; "
                "calibrate again when the machine is quiet", err=True,
            )  # fmt: skip
        costs = calibrate(cells[0], seconds)
        known = toml_values(cells[0].settings)
        cell = {"algo": cells[0].name, "env": cells[0].env}
        cell |= {name: known[name] for name in UPDATES if known.get(name) is not None}
    save_costs(out, costs, cell, described)
    shown = [(name, f"{value:.3g} s") for name, value in asdict(costs).items() if name not in OTHER]
    shown.append(("spread of equal tasks", f"{costs.spread:.3g} of their time"))
    shown.append((f"crowding on {counted(costs.cores, 'core')}", f"{costs.crowding:.3g} times"))
    print_table("Costs of one process", ("what", "seconds"), shown)
    click.echo(f"written to {out}")
