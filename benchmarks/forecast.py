"""The forecast beside what was measured: its error, cell by cell, for the package and for docs/time.md.

python -m benchmarks.forecast sleeping                # more processes than cores; about six minutes
python -m benchmarks.forecast computing               # on a quiet machine; about 30 minutes
python -m benchmarks.forecast computing --algo cem    # or one after the other; about six minutes

Each writes its rows of erlbench/experiment/forecast_errors.csv, which `erlbench forecast` prints, and the table in
docs/time.md. `computing` adds turns to those in results/reference/bench/forecast_turns.csv, and the rows are of all of
them; remove that file where calibration or forecast have changed. With --dry-run nothing is written.
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
from dataclasses import astuple, dataclass, fields, replace  # noqa: E402
from math import isnan, nan  # noqa: E402
from pathlib import Path  # noqa: E402
from statistics import mean, median  # noqa: E402
from typing import Any  # noqa: E402

import click  # noqa: E402

from benchmarks.awake import awake  # noqa: E402
from benchmarks.harness import Stolen  # noqa: E402
from erlbench.algorithms import registry  # noqa: E402
from erlbench.experiment.calibration import calibrate  # noqa: E402
from erlbench.experiment.cells import Cell, RunOptions, with_workers  # noqa: E402
from erlbench.experiment.costs import Costs  # noqa: E402
from erlbench.experiment.costs_of_runs import from_tasks  # noqa: E402
from erlbench.experiment.forecast import forecast  # noqa: E402
from erlbench.experiment.settings import resolve  # noqa: E402
from erlbench.experiment.validation import FILE, KINDS, Validated, validated  # noqa: E402
from erlbench.pool import local_pool  # noqa: E402
from erlbench.running import machine  # noqa: E402
from erlbench.running.runner import run_cells  # noqa: E402
from erlbench.threads import cores  # noqa: E402
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
SHORT = {"max_episode_steps": 200}  # so that a budget holds several generations


@dataclass(frozen=True)
class Effort:
    """How cells of an algorithm are measured."""

    steps: int
    settings: Mapping[str, Any]
    calibration: float  # seconds of each of its short runs
    pairs: int  # of turns


EVOLUTION = Effort(30_000, {}, 1.5, 8)
GRADIENTS = Effort(8_000, {"start_timesteps": 1000, "hidden": (64, 64)}, 5.0, 3)
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


def computing(folder: Path, algorithms: Sequence[str], pairs: int | None, turns: Path | None) -> Iterator[Validated]:
    """HalfCheetah on one process to all cores, in pairs of turns; with a file `turns` these join those in it."""
    for algo in algorithms:
        known = [] if turns is None else turns_of(algo, turns)
        for pair in range(pairs or COMPUTING[algo].pairs):
            for backwards in (False, True):
                known.append(turn(folder / f"{algo}-{pair}-{backwards:d}", algo, backwards))
            if turns is not None:  # at once: what is measured is not lost when the next turn fails
                append([row for rows in known[-2:] for row in rows], turns)
        yield from map(middle, zip(*known, strict=True))


def turns_of(algo: str, path: Path) -> list[list[Validated]]:
    """The turns of an algorithm that a file holds from this machine, each of one row for each number of processes."""
    rows = (
        [row for row in validated(path) if (row.algorithm, row.machine) == (algo, this_machine())]
        if path.exists()
        else []
    )
    counts = len({row.processes for row in rows}) or 1
    return [rows[first : first + counts] for first in range(0, len(rows), counts)]


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


def turn(folder: Path, algo: str, backwards: bool) -> list[Validated]:
    """A calibration and at once the runs that it forecasts, so that both meet the same machine; or the other way."""
    stolen, how = Stolen(), COMPUTING[algo]
    cell = cell_of(algo, "HalfCheetah-v5", folder, how.steps, how.settings, SHORT)
    cells = {count: with_workers(replace(cell, out=folder / str(count)), count) for count in sorted({1, 2, cores()})}
    costs = None if backwards else calibrate(cell, how.calibration)
    measured = {count: measure(cells[count], count) for count in sorted(cells, reverse=backwards)}
    costs = costs or calibrate(cell, how.calibration)
    share = round(100 * stolen.share(), 1)
    rows = [replace(compare("computing", cells[n], n, costs, measured[n]), stolen=share) for n in cells]
    click.echo(f"  {costs}\n  {share} % stolen; errors " + ", ".join(f"{row.error:+.1f} %" for row in rows), err=True)
    return rows


def middle(turns: Sequence[Validated]) -> Validated:
    """Of one cell in several turns: medians over pairs of turns, and by how much the pairs differ.

    One turn of a pair begins with the calibration, the other ends with it. So a machine that becomes slower or faster
    meanwhile does not count.
    """
    pairs = [_mean(turns[first : first + 2]) for first in range(0, len(turns), 2)]
    usual, errors = median(row.measured for row in pairs), [row.error for row in pairs]
    return replace(
        turns[0],
        measured=round(usual, 4),
        forecast=round(usual * (1 + median(errors) / 100), 4),
        own=round(usual * (1 + median(row.schedule_error for row in pairs) / 100), 4),
        lowest=round(min(errors), 1),
        highest=round(max(errors), 1),
        apart=round(100 * (max(row.measured for row in pairs) - min(row.measured for row in pairs)) / usual, 1),
        stolen=round(mean(row.stolen for row in pairs), 1),
    )


def _mean(turns: Sequence[Validated]) -> Validated:
    means = {name: mean(getattr(row, name) for row in turns) for name in ("measured", "forecast", "own", "stolen")}
    return replace(turns[0], **means)


def save(rows: Sequence[Validated], path: Path = ERRORS, page: Path = PAGE) -> None:
    """Write all rows to the package's file, and as a table between the marks in docs/time.md."""
    path.unlink(missing_ok=True)
    append(rows, path)
    page.write_text(re.sub(r"(<!-- errors -->\n).*?(?=<!-- end of errors -->)", lambda found: found[1] + table(rows),
                           page.read_text(), flags=re.S))  # fmt: skip


def table(rows: Sequence[Validated]) -> str:
    """The rows in Markdown, with the machines that they were measured on."""
    lines = [
        "| | environment | processes | measured | apart | forecast | error | of pairs | of the schedule | stolen |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {row.algorithm} | {row.kind} | {row.processes} | {row.measured:,.2f} | {_percent(row.apart)} "
        f"| {row.forecast:,.2f} | {row.error:+.1f} % | {_pairs(row)} | {_percent(row.schedule_error, '+')} "
        f"| {_percent(row.stolen)} |"
        for row in rows
    ]
    machines = "; ".join(dict.fromkeys(row.machine for row in rows))
    return "\n".join([*lines, "", f"Minutes per million training steps, measured on {machines}.", ""])


def _pairs(row: Validated) -> str:
    return "" if isnan(row.lowest) else f"{row.lowest:+.1f} to {row.highest:+.1f} %"


def _percent(value: float, sign: str = "") -> str:
    return "" if isnan(value) else f"{value:{sign}.1f} %"


@click.command()
@click.argument("kind", type=click.Choice(KINDS))
@click.option("--algo", "algorithms", multiple=True, type=click.Choice(list(COMPUTING)), help="Only these; computing.")
@click.option("--pairs", type=click.IntRange(1), help="Pairs of turns of each; computing.")
@click.option("--dry-run", is_flag=True, help="Write nothing.")
def main(kind: str, algorithms: Sequence[str], pairs: int | None, dry_run: bool) -> None:
    """Measure, forecast, and write down the errors."""
    with tempfile.TemporaryDirectory() as name, awake():
        folder = Path(name)
        chosen, turns = algorithms or list(COMPUTING), None if dry_run else TURNS
        for row in sleeping(folder) if kind == "sleeping" else computing(folder, chosen, pairs, turns):
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
