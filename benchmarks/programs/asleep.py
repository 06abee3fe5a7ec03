"""Forecasts beside real runs whose steps and updates sleep: P-CEM-RL and AES-RL with their critics.

python -m benchmarks.programs.asleep    # three turns of each point; about ten minutes, almost all of it asleep

Asleep, nine runs of up to sixteen processes fit on two cores. It writes every turn to
results/reference/bench/asleep_turns.csv and into the table of docs/asynchrony.md. The number of turns is fixed.
"""

from __future__ import annotations

from erlbench.resources import limit_threads

limit_threads()

import csv  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import re  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402
from collections.abc import Iterator, Mapping, Sequence  # noqa: E402
from dataclasses import astuple, dataclass, fields, replace  # noqa: E402
from pathlib import Path  # noqa: E402
from statistics import fmean  # noqa: E402
from typing import Any  # noqa: E402

import click  # noqa: E402

from benchmarks.harness import Stolen  # noqa: E402
from benchmarks.programs.forecast import cell_of, this_machine  # noqa: E402
from benchmarks.tasks import ACTOR, CRITIC  # noqa: E402
from erlbench.algorithms import registry  # noqa: E402
from erlbench.algorithms.aes_rl import AESRL  # noqa: E402
from erlbench.algorithms.p_cem_rl import PCEMRL  # noqa: E402
from erlbench.experiment.cells import Cell, RunOptions, with_workers  # noqa: E402
from erlbench.experiment.costs import Costs  # noqa: E402
from erlbench.files import read_rows  # noqa: E402
from erlbench.forecasting.environment import lengths_in  # noqa: E402
from erlbench.forecasting.forecast import forecast  # noqa: E402
from erlbench.pool import local_pool  # noqa: E402
from erlbench.running.runner import run_cells  # noqa: E402
from erlbench.work.seeding import generator  # noqa: E402
from erlbench.work.tasks import Task  # noqa: E402

ROWS, PAGE = Path("results/reference/bench/asleep_turns.csv"), Path("docs/asynchrony.md")
STEP = 20e-3  # seconds
MEAN = 20  # steps of an episode
SECONDS = 120.0  # that a run takes by the forecast
NAPS, NAP = 20, 0.05  # tasks, and seconds of each, that tell what a task takes besides
ORDERS = 10
JOBS = 9  # runs at once
TURNS = 3
SMALL = {"hidden": (4,), "batch_size": 1, "start_timesteps": 100}
SCHEMES: Mapping[str, tuple[str, Mapping[str, Any]]] = {  # name -> algorithm, settings
    "p-cem-rl@barriers": ("p-cem-rl", {"barriers": True}),
    "p-cem-rl": ("p-cem-rl", {}),
    "aes-rl@fixed-ratio": ("aes-rl", {"critic_ratio": 1.0, "critic_block": MEAN}),
}
PROCESSES = (2, 16)
LENGTHS = ("constant", "geometric")


def asleep(tasks: list[Task]) -> list[Task]:
    """The same tasks; those with gradient steps sleep, and need no torch."""
    return [
        replace(task, gradient=False, function=f"benchmarks.tasks:{task.function.rpartition(':')[2]}")
        if task.gradient else task
        for task in tasks
    ]  # fmt: skip


class SleepingPCEMRL(PCEMRL):
    """P-CEM-RL, asleep."""

    def _ask(self) -> list[Task]:
        return asleep(super()._ask())


class SleepingAESRL(AESRL):
    """AES-RL, asleep."""

    def _ask(self) -> list[Task]:
        return asleep(super()._ask())


CLASSES = {"p-cem-rl": SleepingPCEMRL, "aes-rl": SleepingAESRL}


@dataclass(frozen=True)
class Turn:
    """One run beside its forecast: minutes per million training steps."""

    scheme: str
    lengths: str
    processes: int
    turn: int
    measured: float
    forecast: float
    overhead_ms: float  # of a task, measured before and after all runs
    load: float  # runnable processes of the machine in the last quarter of an hour, in the mean
    stolen: float  # percent
    machine: str

    @property
    def error(self) -> float:
        """Percent of what was measured; negative: the forecast was too short."""
        return 100 * (self.forecast / self.measured - 1)


def cell_of_point(scheme: str, lengths: str, processes: int, seed: int, out: Path) -> Cell:
    """The run of a point, asleep: as many steps as take `SECONDS` with constant lengths, in whole generations."""
    algo, settings = SCHEMES[scheme]
    env = {"mean_length": MEAN, "seconds_per_step": STEP, "lengths": lengths, "observation_size": 4, "action_size": 2}
    folder = out / f"{scheme}-{lengths}-{processes}"
    one = with_workers(cell_of(algo, "erlbench/Latency-v0", folder, 4000, {**SMALL, **settings}, env), processes)
    usual = 60e-6 * forecast(one, Costs(STEP, CRITIC, ACTOR, 0.0), processes, [MEAN]).minutes  # seconds of a step
    steps = 10 * MEAN * round(SECONDS / usual / (10 * MEAN))
    return replace(one, seed=seed, total_timesteps=steps, processes=processes)


def turns(chosen: Sequence[tuple[str, str, int, int]], out: Path) -> list[Turn]:
    """Run all points, and forecast each run with the lengths that its episodes had."""
    cells = [cell_of_point(*point, out) for point in chosen]
    stolen, before = Stolen(), late()
    sleeping = [replace(cell, algo=f"{__spec__.name}:{CLASSES[cell.algo].__name__}") for cell in cells]
    assert run_cells(sleeping, RunOptions(max(PROCESSES), jobs=JOBS, verbosity=-1, device="cpu", one_core=True)) == 0
    overhead, load = (before + late()) / 2, round(os.getloadavg()[2], 1)
    more = round(1e3 * overhead, 2), load, round(100 * stolen.share(), 1), this_machine()
    found = []
    for point, cell in zip(chosen, cells, strict=True):
        status = json.loads((cell.directory / "status.json").read_text())
        measured = status["train_time_s"] / 60 / status["timesteps"] * 1e6
        found.append(Turn(*point, round(measured, 2), round(minutes(cell, point[2], overhead), 2), *more))
    return found


def minutes(one: Cell, processes: int, overhead: float) -> float:
    """The forecast of a finished run, with the lengths of its episodes by kind; `overhead` of a task in seconds.

    Results of a synchronous algorithm come in the order of its tasks. Where the order is another one in each run, so is
    the time, by some percent: the forecast is then the mean over `ORDERS` orders of the lengths.
    """
    played, costs = lengths_in(one.directory, one.env).by_kind, Costs(STEP, CRITIC, ACTOR, overhead, "asleep")
    if registry.find(one.algo).is_synchronous(one.settings):
        return forecast(one, costs, processes, played).minutes
    orders = ({kind: generator(number).permutation(steps).tolist() for kind, steps in played.items()}
              for number in range(ORDERS))  # fmt: skip
    return fmean(forecast(one, costs, processes, order).minutes for order in orders)


def late() -> float:
    """Seconds by which tasks that sleep come back late, in the mean: messages, and waking up on a busy machine."""
    found = []
    with local_pool(1) as pool:
        task = Task(0, "sleep", "benchmarks.tasks:sleep", (), {"seconds": NAP})
        pool.prepare(task, 1)
        for number in range(NAPS):
            begun = time.perf_counter()
            pool.submit([replace(task, id=number)])
            pool.next_result()
            found.append(time.perf_counter() - begun - NAP)
    return fmean(found)


def points() -> Iterator[tuple[str, str, int, int]]:
    """All points of a turn, then those of the next one."""
    for number in range(TURNS):
        for processes in PROCESSES:
            for lengths in LENGTHS:
                for scheme in SCHEMES:
                    yield scheme, lengths, processes, number


def save(rows: Sequence[Turn], path: Path) -> None:
    """Write all rows as CSV."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([item.name for item in fields(Turn)])
        writer.writerows(map(astuple, rows))


def load(path: Path) -> list[Turn]:
    """The rows of such a file."""
    words = ("scheme", "lengths", "machine")
    kinds: dict[str, Any] = {"processes": int, "turn": int} | dict.fromkeys(words, str)
    return [Turn(**{name: kinds.get(name, float)(value) for name, value in row.items()}) for row in read_rows(path)]


def table(rows: Sequence[Turn]) -> str:
    """A line for each point, with the error of every turn."""
    lines = [
        "| | lengths | processes | measured, each turn | forecast, each turn | error, each turn |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for scheme in SCHEMES:
        for lengths in LENGTHS:
            for processes in PROCESSES:
                found = [
                    row for row in rows if (row.scheme, row.lengths, row.processes) == (scheme, lengths, processes)
                ]
                cells = [
                    scheme, lengths, str(processes), *(", ".join(f"{value:,.1f}" for value in values) for values in (
                        [row.measured for row in found], [row.forecast for row in found])),
                    ", ".join(f"{row.error:+.1f} %" for row in found),
                ]  # fmt: skip
                lines.append("| " + " | ".join(cells) + " |")
    row = rows[0]
    note = (
        f"Minutes per million training steps, measured on {row.machine}. A sleeping task came back "
        f"{row.overhead_ms:.1f} ms late; the machine's load was {row.load:.1f}, and its host took {row.stolen:.1f} % "
        "of the time."
    )
    return "\n".join([*lines, "", note, ""])


@click.command()
@click.option("--dry-run", is_flag=True, help="Write nothing.")
def main(dry_run: bool) -> None:
    """Run, forecast, and write down every turn."""
    with tempfile.TemporaryDirectory() as name:
        rows = turns([*points()], Path(name))
    click.echo(table(rows))
    if not dry_run:
        save(rows, ROWS)
        text = re.sub(r"(<!-- asleep -->\n).*?(?=<!-- end of asleep -->)", lambda found: found[1] + table(rows),
                      PAGE.read_text(), flags=re.S)  # fmt: skip
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
