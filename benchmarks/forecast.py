"""The forecast beside what was measured: its error, cell by cell, for the package and for docs/time.md.

python -m benchmarks.forecast sleeping     # more processes than cores; about three minutes
python -m benchmarks.forecast computing    # on a quiet machine; about 15 minutes

Each writes its rows of erlbench/experiment/forecast_errors.csv, which `erlbench forecast` prints, and the table in
docs/time.md. With --dry-run nothing is written.
"""

from __future__ import annotations

from erlbench.threads import limit_threads

limit_threads()

import csv  # noqa: E402
import json  # noqa: E402
import re  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402
from collections.abc import Iterator, Mapping, Sequence  # noqa: E402
from dataclasses import astuple, fields, replace  # noqa: E402
from math import isnan, nan  # noqa: E402
from pathlib import Path  # noqa: E402
from statistics import mean, median  # noqa: E402
from typing import Any  # noqa: E402

import click  # noqa: E402

from benchmarks.harness import Stolen  # noqa: E402
from erlbench.algorithms import registry  # noqa: E402
from erlbench.experiment.calibration import calibrate, from_tasks  # noqa: E402
from erlbench.experiment.cells import Cell, RunOptions  # noqa: E402
from erlbench.experiment.costs import Costs  # noqa: E402
from erlbench.experiment.forecast import forecast, with_workers  # noqa: E402
from erlbench.experiment.settings import resolve  # noqa: E402
from erlbench.experiment.validation import FILE, KINDS, Validated, validated  # noqa: E402
from erlbench.pool import local_pool  # noqa: E402
from erlbench.running import machine  # noqa: E402
from erlbench.running.runner import run_cells  # noqa: E402
from erlbench.threads import cores  # noqa: E402
from erlbench.work.tasks import Task  # noqa: E402

ERRORS, PAGE = Path("erlbench/experiment") / FILE, Path("docs/time.md")
SECONDS = 5e-3  # a step of the sleeping environment
SLEEPING = {"mean_length": 100, "seconds_per_step": SECONDS, "lengths": "uniform", "observation_size": 4,
            "action_size": 2}  # fmt: skip
EPISODES = 12  # a process
NEVER = 10**9
# AES-RL without its critic: what is left is asleep, and as asynchronous as it is.
ASYNCHRONOUS = {"start_timesteps": NEVER, "warmup": "own-policies", "tell_in_warmup": True, "mean_episodes": 1,
                "hidden": (8,)}  # fmt: skip
TRIPS = 200  # empty tasks
ATTEMPTS, DISTURBED = 3, 1.0  # percent of the machine that its host may take (`Stolen`)
CALIBRATION = 20.0  # seconds of each short run
SHORT = {"max_episode_steps": 200}  # so that a budget holds several generations
EVOLUTION: tuple[int, Mapping[str, Any]] = (100_000, {})  # steps, settings
GRADIENTS: tuple[int, Mapping[str, Any]] = (4_000, {"start_timesteps": 1000})
COMPUTING = {"cem": EVOLUTION, "openai-es": EVOLUTION, "cem-rl": GRADIENTS, "p-cem-rl": GRADIENTS, "aes-rl": GRADIENTS}


def cell_of(algo: str, env: str, out: Path, steps: int, settings: Mapping[str, Any], env_settings: Any) -> Cell:
    """A cell with the paper's settings but `settings`, evaluated once."""
    cls = registry.find(algo)
    resolved = resolve(cls.settings_type, env, registry.preset(algo, "paper"), settings)
    return Cell(
        algo, "paper", algo, env, 0, steps, cls.default_workers or 0, NEVER, 1, "after", resolved, out,
        final_episodes=1, env_settings=env_settings,
    )  # fmt: skip


def measure(cell: Cell, processes: int) -> float:
    """Minutes of training per million steps."""
    assert run_cells([cell], RunOptions(processes, verbosity=-1, device="cpu", one_core=True)) == 0
    status = json.loads((cell.directory / "status.json").read_text())
    return float(status["train_time_s"] / 60 / status["timesteps"] * 1e6)


def compare(kind: str, cell: Cell, processes: int, costs: Costs, measured: Sequence[float]) -> Validated:
    """The mean of the measured times beside the forecast, which knows the episodes' lengths of the run in the cell."""
    with open(cell.directory / "episodes.csv", newline="") as file:
        lengths = [int(row["l"]) for row in csv.DictReader(line for line in file if not line.startswith("#"))]
    expected = forecast(cell, costs.on(processes), processes, lengths).minutes
    own = forecast(cell, from_tasks(cell.directory), processes, lengths).minutes * mean(measured) / measured[0]
    described, usual = machine.describe(), mean(measured)
    apart = 100 * (max(measured) - min(measured)) / usual if len(measured) > 1 else nan
    return Validated(
        kind, cell.algo, processes, round(usual, 4), round(expected, 4),
        f"{described['cpu']}, {described['cores']} cores", round(apart, 1), round(own, 4),
    )  # fmt: skip


def dispatch_seconds() -> float:
    """Seconds of an empty task's way to a process and back, the median of many."""
    trips = []
    with local_pool(1) as pool:
        task = Task(0, "nothing", "erlbench.work.preparation:nothing", ())
        pool.prepare(task, 1)
        for number in range(TRIPS):
            begun = time.perf_counter()
            pool.submit([replace(task, id=number)])
            pool.next_result()
            trips.append(time.perf_counter() - begun)
    return median(trips)


def sleeping(folder: Path) -> Iterator[Validated]:
    """CEM and AES-RL, asleep, on more processes than there are cores."""
    for algo in ("cem", "aes-rl"):
        for processes in (5, 9, 24, 64):
            settings = {"population": processes, "hidden": (8,)} if algo == "cem" else ASYNCHRONOUS
            steps = EPISODES * SLEEPING["mean_length"] * processes  # type: ignore[operator]
            out = folder / f"{algo}-{processes}"
            cell = with_workers(cell_of(algo, "erlbench/Latency-v0", out, steps, settings, SLEEPING), processes)
            stolen, measured = Stolen(), [measure(cell, processes)]
            costs = Costs(SECONDS, 0.0, 0.0, dispatch_seconds(), "sleeping")
            yield replace(compare("sleeping", cell, processes, costs, measured), stolen=round(100 * stolen.share(), 1))


def computing(folder: Path) -> Iterator[Validated]:
    """HalfCheetah on one process to all cores; of some attempts the one from which the host took least."""
    for algo in COMPUTING:
        found: list[Validated] = []
        for attempt in range(ATTEMPTS):
            rows = in_turns(folder / str(attempt), algo)
            if not found or rows[0].stolen < found[0].stolen:
                found = rows
            if found[0].stolen < DISTURBED:
                break
        yield from found


def in_turns(folder: Path, algo: str) -> list[Validated]:
    """Calibration, runs, the same runs backwards, calibration: what the machine's speed does weighs equally on both."""
    counts, stolen, (steps, settings) = sorted({1, 2, cores()}), Stolen(), COMPUTING[algo]
    cell = cell_of(algo, "HalfCheetah-v5", folder / algo, steps, settings, SHORT)
    cells = {count: with_workers(replace(cell, out=folder / f"{algo}-{count}"), count) for count in counts}
    costs, measured = [calibrate(cell, CALIBRATION)], [measure(cells[count], count) for count in counts]
    again = [measure(replace(cells[count], out=folder / f"{algo}-{count}-again"), count) for count in counts[::-1]]
    costs.append(calibrate(cell, CALIBRATION))
    click.echo("\n".join(map(str, costs)), err=True)
    share = round(100 * stolen.share(), 1)
    return [
        replace(compare("computing", cells[count], count, between(costs), both), stolen=share)
        for count, *both in zip(counts, measured, again[::-1], strict=True)
    ]


def between(costs: Sequence[Costs]) -> Costs:
    """The means of all costs."""
    numbers = {item.name for item in fields(Costs)} - {"source", "cores"}
    return replace(costs[0], **{name: mean(getattr(one, name) for one in costs) for name in numbers})


def save(rows: Sequence[Validated], path: Path = ERRORS, page: Path = PAGE) -> None:
    """Write all rows to the package's file, and as a table between the marks in docs/time.md."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([item.name for item in fields(Validated)])
        writer.writerows(map(astuple, rows))
    page.write_text(re.sub(r"(<!-- errors -->\n).*?(?=<!-- end of errors -->)", lambda found: found[1] + table(rows),
                           page.read_text(), flags=re.S))  # fmt: skip


def table(rows: Sequence[Validated]) -> str:
    """The rows in Markdown, with the machines that they were measured on."""
    lines = [
        "| | environment | processes | measured | apart | forecast | error | of the schedule | stolen |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {row.algorithm} | {row.kind} | {row.processes} | {row.measured:,.2f} | {_percent(row.apart)} "
        f"| {row.forecast:,.2f} | {row.error:+.1f} % | {_percent(row.schedule_error, '+')} | {_percent(row.stolen)} |"
        for row in rows
    ]
    machines = "; ".join(dict.fromkeys(row.machine for row in rows))
    return "\n".join([*lines, "", f"Minutes per million training steps, measured on {machines}.", ""])


def _percent(value: float, sign: str = "") -> str:
    return "" if isnan(value) else f"{value:{sign}.1f} %"


@click.command()
@click.argument("kind", type=click.Choice(KINDS))
@click.option("--dry-run", is_flag=True, help="Write nothing.")
def main(kind: str, dry_run: bool) -> None:
    """Measure, forecast, and write down the errors."""
    with tempfile.TemporaryDirectory() as name:
        for row in (sleeping if kind == "sleeping" else computing)(Path(name)):
            click.echo(
                f"{row.algorithm} on {row.processes}: {row.measured:,.2f}, {row.forecast:,.2f}, {row.error:+.1f} %"
            )
            if not dry_run:  # at once: what is measured is not lost when the next measurement fails
                save(with_row(validated(), row))


def with_row(rows: Sequence[Validated], row: Validated) -> list[Validated]:
    """The rows with this one in its place."""
    known = {(other.kind, other.algorithm, other.processes): other for other in rows}
    known[row.kind, row.algorithm, row.processes] = row
    place = {algorithm: number for number, algorithm in enumerate(COMPUTING)}
    return sorted(known.values(), key=lambda one: (KINDS.index(one.kind), place[one.algorithm], one.processes))


if __name__ == "__main__":
    main()
