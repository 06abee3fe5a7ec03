"""The forecast beside what was measured: its error, cell by cell.

python -m benchmarks.forecast sleeping    # more processes than cores; can be run on a busy machine
python -m benchmarks.forecast computing   # on a quiet machine; takes about half an hour
"""

from __future__ import annotations

from erlbench.threads import limit_threads

limit_threads()

import csv  # noqa: E402
import json  # noqa: E402
import tempfile  # noqa: E402
from collections.abc import Mapping  # noqa: E402
from dataclasses import replace  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import click  # noqa: E402

from erlbench.algorithms import registry  # noqa: E402
from erlbench.cli.tables import print_table  # noqa: E402
from erlbench.experiment.calibration import calibrate, dispatch_seconds  # noqa: E402
from erlbench.experiment.cells import Cell, RunOptions  # noqa: E402
from erlbench.experiment.costs import Costs  # noqa: E402
from erlbench.experiment.forecast import forecast, with_workers  # noqa: E402
from erlbench.experiment.settings import resolve  # noqa: E402
from erlbench.running.runner import run_cells  # noqa: E402
from erlbench.threads import cores  # noqa: E402

SECONDS = 5e-3  # a step of the sleeping environment
SLEEPING = {"mean_length": 100, "seconds_per_step": SECONDS, "lengths": "uniform", "observation_size": 4,
            "action_size": 2}  # fmt: skip
NEVER = 10**9
# AES-RL without its critic: what is left is asleep, and as asynchronous as it is.
ASYNCHRONOUS = {"start_timesteps": NEVER, "warmup": "own-policies", "tell_in_warmup": True, "mean_episodes": 1,
                "hidden": (8,)}  # fmt: skip
COMPUTING = ("cem", "cem-rl", "p-cem-rl", "aes-rl")


def cell_of(algo: str, env: str, out: Path, steps: int, settings: Mapping[str, Any], **more: Any) -> Cell:
    """A cell with the paper's settings but `settings`, evaluated once."""
    cls = registry.find(algo)
    resolved = resolve(cls.settings_type, env, registry.preset(algo, "paper"), settings)
    return Cell(
        algo, "paper", algo, env, 0, steps, cls.default_workers or 0, NEVER, 1, "after", resolved, out,
        final_episodes=1, **more,
    )  # fmt: skip


def compare(cell: Cell, processes: int, costs: Costs) -> tuple[str, ...]:
    """A row: the measured training time of a cell, its forecast, and the error."""
    assert run_cells([cell], RunOptions(processes, verbosity=-1, device="cpu", one_core=True)) == 0
    status = json.loads((cell.directory / "status.json").read_text())
    with open(cell.directory / "episodes.csv", newline="") as file:
        lengths = [int(row["l"]) for row in csv.DictReader(line for line in file if not line.startswith("#"))]
    measured = status["train_time_s"] / 60 / status["timesteps"] * 1e6
    expected = forecast(cell, costs, processes, lengths).minutes
    error = 100 * (expected / measured - 1)
    return cell.name, str(processes), f"{measured:,.1f}", f"{expected:,.1f}", f"{error:+.1f} %"


@click.command()
@click.argument("what", type=click.Choice(["sleeping", "computing"]))
@click.option("--steps", default=0, help="Training steps of a cell [default: 12 episodes a process, or 20,000].")
def main(what: str, steps: int) -> None:
    """Print measured and forecast minutes per million steps, and the error of the forecast."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        for number, (algo, processes) in enumerate(_cells(what)):
            out = Path(name) / str(number)
            if what == "sleeping":
                budget = steps or 1200 * processes
                settings = {"population": processes, "hidden": (8,)} if algo == "cem" else ASYNCHRONOUS
                cell = cell_of(algo, "erlbench/Latency-v0", out, budget, settings, env_settings=SLEEPING)
                costs = Costs(SECONDS, 0.0, 0.0, dispatch_seconds(), "sleeping")
            else:
                cell = cell_of(algo, "HalfCheetah-v5", out, steps or 20_000, {"start_timesteps": 2000}
                               if algo != "cem" else {})  # fmt: skip
                costs = calibrate(replace(cell, out=out / "calibration"), 60.0)
            rows.append(compare(with_workers(cell, processes), processes, costs))
            print(*rows[-1], flush=True)
    print_table("", ("algorithm", "processes", "measured", "forecast", "error"), rows)


def _cells(what: str) -> list[tuple[str, int]]:
    if what == "sleeping":
        # AES-RL's gradient workers are prepared although none is used; more of them would fill the memory.
        return [*(("cem", processes) for processes in (5, 9, 24, 64)), ("aes-rl", 5), ("aes-rl", 9)]
    counts = sorted({1, 2, cores()})
    return [(algo, count) for algo in COMPUTING for count in counts]


if __name__ == "__main__":
    main()
