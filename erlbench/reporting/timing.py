"""The table of training times: minutes per million training steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from erlbench.reporting import statistics
from erlbench.reporting.baseline import label
from erlbench.reporting.comparability import environment_notes
from erlbench.reporting.comparison import Cell, Comparison
from erlbench.reporting.csvfile import Warn, read_columns
from erlbench.reporting.metrics import minutes_per_million, minutes_per_million_after
from erlbench.reporting.published import Published
from erlbench.reporting.runs import Run
from erlbench.reporting.tables import NONE, Table, exact, percent, plus_minus

MILLION = 1_000_000
COLUMNS = ("timesteps", "train_time_s", "critic_updates")


@dataclass(frozen=True)
class Times:
    """Training minutes per million steps of one cell's finished runs, a number per run."""

    whole: tuple[float, ...]
    after: tuple[float, ...]  # after the warm-up; NaN without gradient steps
    after_steps: tuple[int, ...]  # over which `after` was measured

    @property
    def whole_mean(self) -> float:
        """Over the whole runs."""
        return statistics.mean(self.whole)

    @property
    def after_mean(self) -> float:
        """After the warm-up."""
        return statistics.mean(self.after)


def times_table(comparison: Comparison, published: Published, warn: Warn) -> Table:
    """Minutes per million steps over the whole run and after the warm-up, against baseline and paper."""
    rows, records = [], []
    after_steps: list[int] = []
    base_label = label(comparison)
    for group in comparison.groups:
        times = {cell.name: cell_times(cell, warn) for cell in group.cells if cell.exists}
        base = times.get(comparison.baseline)
        for cell in group.cells:
            own = times[cell.name] if cell.exists else Times((), (), ())
            paper = published.find(comparison.source, comparison.table, group.env_published, cell.published, "time_min")
            saved = published.find(
                comparison.source, comparison.table, group.env_published, cell.published, "time_reduction_pct"
            )
            after_steps += own.after_steps
            against = [float("nan")] * 2
            if base and cell.name != comparison.baseline:
                against = [
                    statistics.improvement(own.whole_mean, base.whole_mean),
                    statistics.improvement(own.after_mean, base.after_mean),
                ]
            row = [
                comparison.group_name(group), cell.label, cell.used,
                _one(cell, "workers"), _one(cell, "processes"), _one(cell, "device"),
                plus_minus(own.whole_mean, statistics.std(own.whole)),
                plus_minus(own.after_mean, statistics.std(own.after)),
            ]  # fmt: skip
            if base_label:
                row[-1:-1] = [percent(against[0])]
                row.append(percent(against[1]))
            if comparison.published:
                row += [exact(paper.value) if paper else NONE, percent(-saved.value) if saved else NONE]
            rows.append((*row, cell.status))
            records.append({
                "env": group.env, "total_timesteps": group.total_timesteps, "name": cell.name if cell.exists else "",
                "algorithm": cell.label, "n": len(cell.done), "planned": cell.planned,
                "workers": _one(cell, "workers"), "processes": _one(cell, "processes"),
                "device": _one(cell, "device"), "whole_min_per_million": own.whole_mean,
                "whole_std": statistics.std(own.whole), "whole_vs_baseline_pct": against[0],
                "after_warmup_min_per_million": own.after_mean, "after_warmup_std": statistics.std(own.after),
                "after_warmup_vs_baseline_pct": against[1],
                "after_warmup_steps": " ".join(map(str, own.after_steps)), "published_env": group.env_published,
                "published_min": paper.value if paper else None,
                "published_reduction_pct": saved.value if saved else None, "status": cell.status,
            })  # fmt: skip
    versus = [f"vs {base_label}"] if base_label else []
    columns = ["Environment", "Algorithm", "n", "Workers", "Processes", "Device", "Whole run (min)", *versus,
               "After warm-up (min)", *versus]  # fmt: skip
    columns += ["Published (min)", "vs its baseline"] if comparison.published else []
    notes = tuple(_notes(comparison, [steps for steps in after_steps if steps]))
    title = f"{comparison.title}: training minutes per million steps"
    return Table("times", title, (*columns, "Status"), tuple(rows), notes, tuple(records))


def cell_times(cell: Cell, warn: Warn) -> Times:
    """Both figures of each finished run of a cell."""
    after = [_after(run, warn) for run in cell.done]
    whole = tuple(map(minutes_per_million, cell.done))
    return Times(whole, tuple(minutes for minutes, _ in after), tuple(steps for _, steps in after))


def _after(run: Run, warn: Warn) -> tuple[float, int]:
    columns = read_columns(run.path / "train.csv", COLUMNS, warn)
    if columns is None:  # the evaluations are coarser, but hold the same
        e = run.evaluations
        return minutes_per_million_after(e.timesteps, e.train_time_s, e.critic_updates)
    return minutes_per_million_after(*(np.asarray(columns[name], dtype=np.float64) for name in COLUMNS))


def _one(cell: Cell, what: str) -> str:
    if what == "workers":
        values = {run.workers or NONE for run in cell.done}
    else:
        values = {str(getattr(run.machine, what)) or "?" for run in cell.done}
    return " or ".join(sorted(values)) or NONE


def _notes(comparison: Comparison, after_steps: list[int]) -> Iterator[str]:
    done = [run for group in comparison.groups for cell in group.cells for run in cell.done]
    lengths = sorted({run.timesteps for run in done})
    if lengths and lengths[0] >= MILLION:
        yield "Measured over runs of at least 1,000,000 training steps."
    elif lengths:
        yield f"Extrapolated to 1,000,000 training steps from runs of {_range(lengths)} steps."
    span = f", over {_range(after_steps)} steps" if after_steps else ""
    yield (
        "Whole run: training time divided by training steps; a short run is flattered by its warm-up, which has no "
        "gradient steps. After warm-up: the same between the first and the last row of train.csv with gradient steps"
        f"{span} (– without two such rows). Mean ± sample standard deviation over the n finished runs of n planned; "
        "training time leaves out the evaluation of the reported policy. Workers: individuals in flight (– for an "
        "algorithm that does not count them)."
    )
    if comparison.baseline:
        yield "Percentages: change of the time against the baseline in the same environment; negative is faster."
    yield from _machine_notes(done)
    if comparison.published:
        yield f"Published: {comparison.source}, {comparison.table}, other hardware; only the percentages compare."
        yield from environment_notes(comparison.groups)


def _too_few_processes(run: Run) -> bool:
    workers, processes = run.workers, run.machine.processes
    return workers.isdigit() and processes.isdigit() and int(processes) < int(workers)


def _range(values: list[int]) -> str:
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _machine_notes(done: list[Run]) -> Iterator[str]:
    if any(run.simulated_time for run in done):
        yield "Some of the times are modelled (simulated time), not measured."
    hardware = sorted({run.machine.hardware for run in done})
    if len(hardware) > 1:
        yield f"NOT COMPARABLE: measured on {len(hardware)} machines: {'; '.join(hardware)}."
    elif hardware:
        threads = sorted({run.machine.threads for run in done if run.machine.threads})
        yield f"Measured on {hardware[0]}" + (f", {' or '.join(threads)} thread(s) per process." if threads else ".")
    jobs = sorted({run.machine.jobs for run in done if run.machine.jobs not in ("", "1")})
    if jobs:
        yield f"Some runs shared the machine with others ({' or '.join(jobs)} cells at once): their times are too long."
    if any(_too_few_processes(run) for run in done):
        yield "Some runs had fewer processes than workers: more workers cannot make them faster."
    if any(run.machine.differ for run in done):
        yield "Some runs were continued with other processes or another device than they began with."
