"""The table of training times: minutes per million training steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from erlbench.records.read import read_columns
from erlbench.records.schema import GenerationRow
from erlbench.reporting.data.comparison import Comparison, Group, RunSet
from erlbench.reporting.data.departures import departure_notes
from erlbench.reporting.data.published import Published
from erlbench.reporting.data.remarks import Warn
from erlbench.reporting.data.runs import StoredRun
from erlbench.reporting.data.timeline import Timeline
from erlbench.reporting.documents.formats import NONE, exact, number, percent, plus_minus, share
from erlbench.reporting.documents.model import Column, Record, Table
from erlbench.reporting.statistics import estimates
from erlbench.reporting.statistics.curves import minutes_per_million, minutes_per_million_after
from erlbench.reporting.tables.asynchrony import ASYNCHRONY, asynchrony
from erlbench.reporting.tables.columns import IDENTITY, STATUS, N, cell_record, updates
from erlbench.reporting.tables.published_notes import environment_notes
from erlbench.reporting.verdict.pairs import label
from erlbench.words import counted

MILLION = 1_000_000
COLUMNS = ("timesteps", "train_time_s", "critic_updates", "paused_s")
PARTS = ("whole", "after_warmup")
KINDS = {False: "Measured", True: "Modelled"}  # minutes, by whether their time is simulated
Tasks = Callable[[RunSet], Timeline | None]
PER_GENERATION = "seconds_per_generation"  # the statistic of studies of papers that measure it


def _no_tasks(run_set: RunSet) -> Timeline | None:
    return None


def times_table(comparison: Comparison, published: Published, warn: Warn, timeline: Tasks = _no_tasks) -> Table:
    """Minutes per million steps over the whole run and after the warm-up, against baseline and paper.

    `timeline` gives the tasks of the run that stands for a run set.
    """
    rows = [row for group in comparison.groups for row in _rows(comparison, group, published, warn, timeline)]
    base, shown = label(comparison), comparison.published
    kinds = {run["modelled"] for row in rows for run in row["own"]} or {False}
    tasks = sorted({kind for row in rows if row["timeline"] for kind in row["timeline"].shares()})
    records = [_record(comparison, row, tasks) for row in rows]
    compared = any(not math.isnan(record[f"{part}_vs_baseline_pct"]) for record in records for part in PARTS)
    columns: list[Column] = [
        *IDENTITY, N, Column("Workers", "workers"), Column("Processes", "processes"), Column("Device", "device"),
        *_minutes("whole", "whole run", kinds),
        Column(f"vs {base}, whole", "whole_vs_baseline_pct", percent, shown=compared),
        *_minutes("after_warmup", "after warm-up", kinds),
        Column(f"vs {base}, after", "after_warmup_vs_baseline_pct", percent, shown=compared),
        Column("After warm-up steps", "after_warmup_steps", shown=False),
        Column("Per generation", "ms_per_generation ms_per_generation_std", plus_minus, unit="ms",
               shown=comparison.statistic == PER_GENERATION,
               note="training time divided by the generations, whose episodes' lengths change while a policy learns."),
        Column("Published environment", "published_env", shown=False),
        Column("Published", "published_min", exact, unit="min", shown=shown),
        Column("Published vs its baseline", "published_change_pct", percent, shown=shown),
        Column("Paused", "paused_min", exact, unit="min",
               shown=any(max(_paused(row["run_set"]), default=0) > 0 for row in rows),
               note="mean over the runs of how long a run stood still; the other minutes are without that."),
        updates(records),
        Column("Span", "span_s", number, unit="s", shown=any(row["timeline"] for row in rows),
               note="from the first to the last training task."),
        *ASYNCHRONY,
        *(Column(kind, (f"share_{kind}",), share) for kind in tasks),
        STATUS,
    ]  # fmt: skip
    after_steps = [run["after_steps"] for row in rows for run in row["own"] if run["after_steps"]]
    remarks = (*_notes(comparison, after_steps), *_task_notes(rows), *comparison.notes)
    return Table("times", f"{comparison.title}: training minutes per million steps", columns, records, remarks)


def _rows(comparison: Comparison, group: Group, published: Published, warn: Warn, timeline: Tasks) -> Iterator[Record]:
    """A run set, its minutes and those of its baseline, what is published on it, and the tasks of one of its runs."""
    times = {run_set.name: run_set_times(run_set, warn) for run_set in group.run_sets if run_set.exists}
    for run_set in group.run_sets:
        paper, saved = (
            published.find(comparison.source, comparison.table, group.env_published, run_set.published, statistic)
            for statistic in ("time_min", "time_reduction_pct")
        )
        yield {
            "group": group, "run_set": run_set, "own": times.get(run_set.name, []) if run_set.exists else [],
            "base": times.get(comparison.baseline, []) if run_set.name != comparison.baseline else [],
            "published_min": paper.value if paper else math.nan,
            "published_change_pct": -saved.value if saved else math.nan, "timeline": timeline(run_set),
        }  # fmt: skip


def _record(comparison: Comparison, row: Record, tasks: Sequence[str]) -> Record:
    run_set, timeline, own = row["run_set"], row["timeline"], row["own"]
    per_generation, spread = estimates.mean_std(_per_generation(run_set))
    shares = timeline.shares() if timeline else {}
    record = {
        **row, **cell_record(comparison, row["group"], run_set), **asynchrony(timeline),
        "workers": " or ".join(sorted({run.workers or NONE for run in run_set.done})),
        **{what: " or ".join(sorted({str(getattr(run.machine, what)) or "?" for run in run_set.done}))
           for what in ("processes", "device")},
        "after_warmup_steps": " ".join(str(run["after_steps"]) for run in own),
        "ms_per_generation": per_generation, "ms_per_generation_std": spread,
        "published_env": row["group"].env_published, "paused_min": estimates.mean(_paused(run_set)),
        "span_s": timeline.span[1] - timeline.span[0] if timeline else math.nan,
        **{f"share_{kind}": shares.get(kind, math.nan) for kind in tasks},
    }  # fmt: skip
    for part in PARTS:
        record[f"{part}_vs_baseline_pct"] = _against(row, part)
        for modelled, kind in KINDS.items():
            minutes, name = _minutes_of(own, part, modelled), f"{kind.lower()}_{part}"
            mean, std = estimates.mean_std(minutes)
            record |= {f"{name}_min_per_million": mean, f"{name}_std": std, f"{name}_median": estimates.median(minutes)}
    return record


def _minutes(part: str, title: str, kinds: Iterable[bool]) -> Iterator[Column]:
    """Mean and median of the minutes by the clock, and of those of simulated time: columns of their own."""
    for modelled, kind in KINDS.items():
        name, shown = f"{kind.lower()}_{part}", modelled in kinds
        yield Column(f"{kind}, {title}", f"{name}_min_per_million {name}_std", plus_minus, unit="min", shown=shown)
        yield Column(f"{kind}, {title}, median", f"{name}_median", number, unit="min", shown=shown)


def _per_generation(run_set: RunSet) -> tuple[float, ...]:
    """Training milliseconds per generation of each finished run."""
    last = ((run.evaluations.seconds[-1], run.evaluations.generation[-1]) for run in run_set.done if run.timed)
    return tuple(float(1000 * seconds / generations) for seconds, generations in last if generations > 0)


def _paused(run_set: RunSet) -> tuple[float, ...]:
    """Minutes of pauses in the training time of each finished run; NaN where nothing says it."""
    return tuple(float(run.evaluations.paused_s[-1]) / 60 for run in run_set.done)


def _against(row: Record, part: str) -> float:
    """The change of the mean minutes against the baseline, of one kind of time."""
    changes = (
        estimates.improvement(*(estimates.mean(_minutes_of(row[side], part, modelled)) for side in ("own", "base")))
        for modelled in KINDS
    )
    return next((change for change in changes if not math.isnan(change)), math.nan)


def _minutes_of(times: Sequence[Record], part: str, modelled: bool) -> list[float]:
    """The minutes of one kind, of runs on cores of their own."""
    return [run[part] for run in times if run["modelled"] is modelled and run["timed"]]


def run_set_times(run_set: RunSet, warn: Warn) -> list[Record]:
    """Minutes per million steps of each finished run of a run set: `whole`, and `after_warmup`.

    `after_steps`: over which the latter was measured; `modelled`: whether a run's minutes are those of simulated time,
    else the clock's; `timed`: whether they count, those of shared cores do not.
    """
    rows: list[Record] = []
    for run in run_set.done:
        after, steps = _after(run, warn)
        rows.append({"whole": minutes_per_million(run), "after_warmup": after, "after_steps": steps,
                     "modelled": run.simulated_time, "timed": run.timed})  # fmt: skip
    return rows


def _after(run: StoredRun, warn: Warn) -> tuple[float, int]:
    if not run.timed:
        return math.nan, 0
    if not run.imported and run.evaluations.critic_updates[-1] == 0 and (run.path / GenerationRow.file).is_file():
        return math.nan, 0  # without gradient steps the file is long and says nothing
    rows = None if run.imported else read_columns(run.path, GenerationRow, warn)
    if rows is None or np.isnan(rows["critic_updates"]).all():  # the evaluations are coarser, but hold the same
        e = run.evaluations
        return minutes_per_million_after(e.timesteps, e.seconds, e.critic_updates)
    steps, seconds, updates, paused = (np.asarray(rows[name], np.float64) for name in COLUMNS)
    return minutes_per_million_after(steps, seconds - np.nan_to_num(paused), updates)


def _notes(comparison: Comparison, after_steps: list[int]) -> Iterator[str]:
    done = [run for run_set in comparison.run_sets for run in run_set.done]
    lengths = sorted({run.timesteps for run in done})
    if lengths and lengths[0] >= MILLION:
        yield "Measured over runs of at least 1,000,000 training steps."
    elif lengths:
        yield f"Extrapolated to 1,000,000 training steps from runs of {_range(lengths)} steps."
    span = f", over {_range(after_steps)} steps" if after_steps else ""
    yield (
        "Whole run: training time divided by training steps; a short run is flattered by its warm-up, which has no "
        "gradient steps. After warm-up: the same between the first and the last row of train.csv with gradient steps"
        f"{span} (– without two such rows). Mean ± sample standard deviation over the finished runs; "
        "training time leaves out the evaluation of the reported policy. Workers: individuals in flight (– for an "
        "algorithm that does not count them)."
    )
    if comparison.baseline:
        yield "Percentages: change of the time against the baseline in the same environment; negative is faster."
    yield from machine_notes(done)
    yield from departure_notes(comparison.run_sets)
    if comparison.published:
        yield f"Published: {comparison.source}, {comparison.table}, other hardware; only the percentages compare."
        yield from environment_notes(comparison.groups)


def _task_notes(rows: list[Record]) -> Iterator[str]:
    """What the columns of tasks are of."""
    if any(row["timeline"] for row in rows):
        yield (
            "Kinds of tasks: their shares of the busy time. Use of the processes: of one run a row, the first that is "
            "finished, else the first."
        )


def _too_few_processes(run: StoredRun) -> bool:
    workers, processes = run.workers, run.machine.processes
    return workers.isdigit() and processes.isdigit() and int(processes) < int(workers)


def _range(values: list[int]) -> str:
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def machine_notes(done: Sequence[StoredRun]) -> Iterator[str]:
    """What of machines and processes makes the times of runs compare, or not."""
    if any(run.simulated_time for run in done):
        yield "Some of the times are modelled (simulated time), not measured."
    hardware = sorted({run.machine.hardware for run in done})
    if len(hardware) > 1:
        yield f"NOT COMPARABLE: measured on {len(hardware)} machines: {'; '.join(hardware)}."
    elif hardware:
        threads = sorted({run.machine.threads for run in done if run.machine.threads})
        yield f"Measured on {hardware[0]}" + (f", {' or '.join(threads)} thread(s) per process." if threads else ".")
    if shared := [run for run in done if not run.timed]:
        yield (
            f"No minutes of {counted(len(shared), 'run')} that shared cores with other cells of the command; "
            "`--jobs 1` runs one cell at a time."
        )
    unknown = [run for run in done if run.machine.shared_cores is None]
    jobs = sorted({run.machine.jobs for run in unknown if run.machine.jobs not in ("", "1")})
    if jobs:
        yield f"Some runs shared the machine with others ({' or '.join(jobs)} cells at once): their times are too long."
    if any(_too_few_processes(run) for run in done):
        yield "Some runs had fewer processes than workers: more workers cannot make them faster."
    if any(run.machine.differ for run in done):
        yield "Some runs were continued with other processes or another device than they began with."
