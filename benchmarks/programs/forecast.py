"""The forecast beside what was measured: its error, cell by cell, for the package and for docs/time.md.

python -m benchmarks.programs.forecast sleeping                # more processes than cores; about six minutes
python -m benchmarks.programs.forecast computing               # on a quiet machine; about 50 minutes
python -m benchmarks.programs.forecast computing --algo cem    # or one after the other; about five minutes

Each writes its rows of erlbench/forecasting/forecast_errors.csv, which `erlbench forecast` prints, and the table in
docs/time.md. `computing` adds turns to those in results/reference/bench/forecast_turns.csv, and the rows are of all of
them; remove that file where calibration or forecast have changed. With --dry-run nothing is written.
"""

from __future__ import annotations

from erlbench.resources import limit_threads

limit_threads()

import csv  # noqa: E402
import json  # noqa: E402
import re  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402
from collections.abc import Iterator, Mapping, Sequence  # noqa: E402
from dataclasses import astuple, dataclass, fields, replace  # noqa: E402
from itertools import zip_longest  # noqa: E402
from math import isnan, nan  # noqa: E402
from pathlib import Path  # noqa: E402
from statistics import mean, median  # noqa: E402
from typing import Any  # noqa: E402

import click  # noqa: E402

from benchmarks.awake import awake  # noqa: E402
from benchmarks.harness import Stolen  # noqa: E402
from erlbench.algorithms import registry  # noqa: E402
from erlbench.experiment.cells import Cell, RunOptions, with_workers  # noqa: E402
from erlbench.experiment.costs import Costs  # noqa: E402
from erlbench.forecasting.calibration import Calibration  # noqa: E402
from erlbench.forecasting.costs_of_runs import from_tasks  # noqa: E402
from erlbench.forecasting.forecast import forecast  # noqa: E402
from erlbench.forecasting.validation import FILE, KINDS, Validated, validated  # noqa: E402
from erlbench.pool import local_pool  # noqa: E402
from erlbench.resources import cores  # noqa: E402
from erlbench.running import machine  # noqa: E402
from erlbench.running.runner import run_cells  # noqa: E402
from erlbench.settings import resolve  # noqa: E402
from erlbench.work.tasks import Task  # noqa: E402

ERRORS, PAGE = Path("erlbench/experiment") / FILE, Path("docs/time.md")
TURNS = Path("results/reference/bench/forecast_turns.csv")
COLUMNS = [item.name for item in fields(Validated)]
SECONDS = 5e-3  # a step of the sleeping environment
SLEEPING = {"mean_length": 100, "seconds_per_step": SECONDS, "lengths": "uniform", "observation_size": 4,
            "action_size": 2}  # fmt: skip
EPISODES = 60  # a process: what is in flight at the end, and not counted, weighs little
NEVER = 10**9
# AES-RL without its critic: what is left is asleep, and as asynchronous as it is.
ASYNCHRONOUS = {"start_timesteps": NEVER, "warmup": "own-policies", "tell_in_warmup": True, "mean_episodes": 1,
                "hidden": (8,)}  # fmt: skip
TRIPS = 200  # empty tasks
STOLEN = 5.0  # percent of the machine's time, and a turn does not count
SHORT = {"max_episode_steps": 200}  # so that a budget holds several generations


@dataclass(frozen=True)
class Effort:
    """How cells of an algorithm are measured."""

    steps: int
    settings: Mapping[str, Any]
    calibration: float  # seconds of each of its short runs
    turns: int


EVOLUTION = Effort(30_000, {}, 1.5, 8)
GRADIENTS = Effort(8_000, {"start_timesteps": 1000, "hidden": (64, 64)}, 5.0, 6)
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


def compare(kind: str, cell: Cell, processes: int, costs: Costs, measured: float) -> Validated:
    """The measured time beside the forecast, which knows the episodes' lengths of the run in the cell."""
    with open(cell.directory / "episodes.csv", newline="") as file:
        lengths = [int(row["l"]) for row in csv.DictReader(line for line in file if not line.startswith("#"))]
    expected = forecast(cell, costs, processes, lengths).minutes
    own = forecast(cell, from_tasks(cell.directory, costs.crowding, costs.cores), processes, lengths).minutes
    return Validated(kind, cell.algo, processes, measured, expected, this_machine(), own=own)


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
            stolen, measured = Stolen(), measure(cell, processes)
            costs = Costs(SECONDS, 0.0, 0.0, dispatch_seconds(), "sleeping")
            row = replace(compare("sleeping", cell, processes, costs, measured), stolen=100 * stolen.share())
            yield replace(middle([row]), lowest=nan, highest=nan, apart=nan)


def computing(folder: Path, algorithms: Sequence[str], count: int | None, path: Path | None) -> Iterator[Validated]:
    """HalfCheetah on one process to all cores, in turns; with a file at `path` these join those in it."""
    for algo in algorithms:
        known = [] if path is None else turns_of(algo, path)
        for number in range(count or COMPUTING[algo].turns):
            rows = turn(folder / f"{algo}-{number}", algo)
            if path is not None:  # at once: what is measured is not lost when the next turn fails
                append(rows, path)
            known += rows
        for processes in sorted({row.processes for row in known}):
            yield middle([row for row in known if row.processes == processes])


def turns_of(algo: str, path: Path) -> list[Validated]:
    """The rows of an algorithm that a file holds from this machine; none without a file."""
    rows = validated(path) if path.exists() else []
    return [row for row in rows if (row.algorithm, row.machine) == (algo, this_machine())]


def append(rows: Sequence[Validated], path: Path) -> None:
    """Add rows to a CSV file."""
    begun = path.exists()
    with path.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if not begun:
            writer.writerow(COLUMNS)
        writer.writerows(map(astuple, rows))


def this_machine() -> str:
    """The processor and its cores."""
    described = machine.describe()
    return f"{described['cpu']}, {described['cores']} cores"


def turn(folder: Path, algo: str) -> list[Validated]:
    """A calibration, and between its parts the runs that it forecasts: there, and back in reverse order.

    So both meet the same machine, and one that becomes slower or faster meanwhile does not count.
    """
    stolen, how = Stolen(), COMPUTING[algo]
    cell = cell_of(algo, "HalfCheetah-v5", folder, how.steps, how.settings, SHORT)
    calibration, counts = Calibration(cell, how.calibration), sorted({1, 2, cores()})
    runs: dict[int, list[tuple[Cell, float]]] = {count: [] for count in counts}
    both = zip_longest(calibration.parts[: len(calibration.parts) // 2], counts)
    there = [step for pair in both for step in pair if step is not None]
    for step in there + there[::-1]:
        if isinstance(step, tuple):
            calibration.measure(*step)
        else:
            one = with_workers(replace(cell, out=folder / f"{step}-{len(runs[step])}"), step)
            runs[step].append((one, measure(one, step)))
    costs = calibration.costs()
    share = round(100 * stolen.share(), 1)
    rows = [
        replace(_mean([compare("computing", one, count, costs, took) for one, took in runs[count]]), stolen=share)
        for count in counts
    ]
    click.echo(f"  {costs}\n  {share} % stolen; errors " + ", ".join(f"{row.error:+.1f} %" for row in rows), err=True)
    return rows


def middle(found: Sequence[Validated]) -> Validated:
    """Of one cell in several turns: medians, and by how much the turns differ.

    Turns in which the host took more than `STOLEN` of the time do not count, if there are others.
    """
    turns = [row for row in found if row.stolen <= STOLEN] or found
    usual, errors = median(row.measured for row in turns), [row.error for row in turns]
    return replace(
        turns[0],
        measured=round(usual, 4),
        forecast=round(usual * (1 + median(errors) / 100), 4),
        own=round(usual * (1 + median(row.schedule_error for row in turns) / 100), 4),
        lowest=round(min(errors), 1),
        highest=round(max(errors), 1),
        apart=round(100 * (max(row.measured for row in turns) - min(row.measured for row in turns)) / usual, 1),
        stolen=round(mean(row.stolen for row in turns), 1),
        turns=len(turns),
    )


def _mean(rows: Sequence[Validated]) -> Validated:
    return replace(
        rows[0], **{name: mean(getattr(row, name) for row in rows) for name in ("measured", "forecast", "own")}
    )


def save(rows: Sequence[Validated], path: Path = ERRORS, page: Path = PAGE) -> None:
    """Write all rows to the package's file, and as a table between the marks in docs/time.md."""
    path.unlink(missing_ok=True)
    append(rows, path)
    page.write_text(re.sub(r"(<!-- errors -->\n).*?(?=<!-- end of errors -->)", lambda found: found[1] + table(rows),
                           page.read_text(), flags=re.S))  # fmt: skip


def table(rows: Sequence[Validated]) -> str:
    """The rows in Markdown, with the machines that they were measured on."""
    lines = [
        "| | environment | processes | turns | measured | apart | forecast | error | of turns | of the schedule "
        "| stolen |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {row.algorithm} | {row.kind} | {row.processes} | {row.turns} | {row.measured:,.2f} | {_percent(row.apart)} "
        f"| {row.forecast:,.2f} | {row.error:+.1f} % | {_turns(row)} | {_percent(row.schedule_error, '+')} "
        f"| {_percent(row.stolen)} |"
        for row in rows
    ]
    machines = "; ".join(dict.fromkeys(row.machine for row in rows))
    return "\n".join([*lines, "", f"Minutes per million training steps, measured on {machines}.", ""])


def _turns(row: Validated) -> str:
    return "" if isnan(row.lowest) else f"{row.lowest:+.1f} to {row.highest:+.1f} %"


def _percent(value: float, sign: str = "") -> str:
    return "" if isnan(value) else f"{value:{sign}.1f} %"


@click.command()
@click.argument("kind", type=click.Choice(KINDS))
@click.option("--algo", "algorithms", multiple=True, type=click.Choice(list(COMPUTING)), help="Only these; computing.")
@click.option("--turns", type=click.IntRange(1), help="Turns of each; computing.")
@click.option("--dry-run", is_flag=True, help="Write nothing.")
def main(kind: str, algorithms: Sequence[str], turns: int | None, dry_run: bool) -> None:
    """Measure, forecast, and write down the errors."""
    with tempfile.TemporaryDirectory() as name, awake():
        folder = Path(name)
        chosen, path = algorithms or list(COMPUTING), None if dry_run else TURNS
        for row in sleeping(folder) if kind == "sleeping" else computing(folder, chosen, turns, path):
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
