"""The table of training times: minutes per million training steps, and how busy and how asynchronous runs were."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from erlbench.records.read import read_columns
from erlbench.records.schema import GenerationRow
from erlbench.reporting.agreement import departure_notes
from erlbench.reporting.cells import Warn
from erlbench.reporting.documents import Record, Table, build_table
from erlbench.reporting.formats import NONE
from erlbench.reporting.page_cells import KINDS, PageCells, cell_rows
from erlbench.reporting.published import environment_notes
from erlbench.reporting.statistics import (
    ends,
    improvement,
    mean,
    median,
    minutes_per_million,
    minutes_per_million_after,
    std,
)
from erlbench.reporting.timeline import Timeline
from erlbench.words import counted, say_range

PARTS = ("whole", "after_warmup")
FINE = 10  # evaluations after the warm-up that measure its minutes without train.csv
PER_GENERATION = "seconds_per_generation"  # the statistic of studies of papers that measure it


def times_table(page: PageCells, warn: Warn, find_tasks: Any = lambda cell: None) -> Table:
    """Minutes per million steps over the whole run and after the warm-up, against baseline and paper.

    `find_tasks` gives the tasks of the run that represents a cell.
    """
    times = {cell.Index: measure_runs(cell, warn) for cell in page.rows}
    timelines = {cell.Index: find_tasks(cell) for cell in page.rows}
    places = {(cell.group, cell.name): cell.Index for cell in page.rows}
    rows = []
    for cell, row in cell_rows(page.cells):
        base = places.get((cell.group, page.baseline)) if cell.name != page.baseline else None
        paper, saved = (page.find_published(cell, name) for name in ("time_min", "time_reduction_pct"))
        rows.append(
            {
                **row,
                **_machine_record(cell),
                **_minutes_record(times[cell.Index], times.get(base, [])),
                "published_min": paper.value if paper else math.nan,
                "published_change_pct": -saved.value if saved else math.nan,
                **_task_record(timelines[cell.Index]),
            }
        )
    measured = [run for cell_runs in times.values() for run in cell_runs]
    kinds = {run["modelled"] for run in measured} or {False}
    remarks = _notes(page, [run["after_steps"] for run in measured if run["after_steps"]])
    return build_table(
        "times", f"{page.title}: training minutes per million steps", rows, [*remarks, *page.notes],
        base=page.base_label, measured=False in kinds, modelled=True in kinds, published=page.published,
        generations=page.statistic == PER_GENERATION,
    )  # fmt: skip


def _machine_record(cell: Any) -> Record:
    timed = [run for run in cell.done if run.timed]
    seconds, generations = ends(timed, "seconds"), ends(timed, "generation")
    some = generations > 0
    milliseconds = 1000 * seconds[some] / generations[some]
    return {
        "workers": " or ".join(sorted({run.workers or NONE for run in cell.done})),
        **{
            what: " or ".join(sorted({str(getattr(run, what)) or "?" for run in cell.done}))
            for what in ("processes", "device")
        },
        "ms_per_generation": mean(milliseconds),
        "ms_per_generation_std": std(milliseconds),
        "paused_min": mean(ends(cell.done, "paused_s") / 60),
    }


def _minutes_record(times: Sequence[Record], base: Sequence[Record]) -> Record:
    """Minutes by the clock and minutes of simulated time, apart; the change of the mean against the baseline's."""
    record: Record = {}
    for period, (modelled, kind) in itertools.product(PARTS, KINDS.items()):
        minutes, others = (
            [run[period] for run in runs if run["modelled"] is modelled and run["timed"]] for runs in (times, base)
        )
        record |= {f"{kind}_{period}_min_per_million": mean(minutes), f"{kind}_{period}_std": std(minutes)}
        if not math.isnan(change := improvement(mean(minutes), mean(others))):
            record.setdefault(f"{period}_vs_baseline_pct", change)
    return record


def _task_record(timeline: Timeline | None) -> Record:
    """Busy share, staleness, critic lag and queueing of a run by its tasks; nothing without."""
    if timeline is None:
        return {}
    busy, (start, end) = timeline.utilisation(), timeline.span
    record = {"utilisation": sum(busy.values()) / len(busy), "span_s": end - start}
    for name in ("staleness", "critic_lag", *(["queueing"] if timeline.run.timed else [])):
        values = timeline.played()[name].to_numpy()
        if len(values := values[np.isfinite(values)]):
            record |= {f"{name}_median": median(values), f"{name}_90": float(np.quantile(values, 0.9))}
    return record


def measure_runs(cell: Any, warn: Warn) -> list[Record]:
    """Minutes per million steps of each finished run of a cell: `whole`, and `after_warmup`.

    `after_steps`: over which the latter was measured; `modelled`: whether a run's minutes are simulated,
    else by the clock; `timed`: whether they count: minutes on shared cores do not.
    """
    rows: list[Record] = []
    for run in cell.done:
        after, steps = _measure_after_warmup(run, warn)
        rows.append({"whole": minutes_per_million(run), "after_warmup": after, "after_steps": steps,
                     "modelled": run.simulated_time, "timed": run.timed})  # fmt: skip
    return rows


def _measure_after_warmup(run: Any, warn: Warn) -> tuple[float, int]:
    """By the evaluations; where few of them come after the warm-up, by the rows of train.csv."""
    evaluations = run.evaluations
    after = minutes_per_million_after(evaluations.timesteps, evaluations.seconds, evaluations.critic_updates)
    if not run.timed or run.imported or not 0 < (evaluations.critic_updates > 0).sum() < FINE:
        return after
    rows = read_columns(run.path, GenerationRow, warn)
    if rows is None:
        return after
    finer = minutes_per_million_after(
        rows["timesteps"], rows["train_time_s"] - np.nan_to_num(rows["paused_s"]), rows["critic_updates"]
    )
    return finer if finer[1] else after


def _notes(page: PageCells, after_steps: list[int]) -> Iterator[str]:
    lengths, span = say_range([run.timesteps for run in page.done]), say_range(after_steps)
    yield (
        "Training time without evaluations and pauses per million training steps, mean ± sample standard deviation "
        f"over the finished runs{f' of {lengths} steps' * bool(lengths)}. After warm-up: from the first to the last "
        f"evaluation with gradient steps, or row of train.csv with fewer than {FINE} of them"
        f"{f', over {span} steps' * bool(span)}. Percentages: negative is faster."
    )
    yield from machine_notes(page.done)
    yield from departure_notes(page.rows)
    if page.published:
        yield f"Published: {page.source}, {page.table}, other hardware; only the percentages compare."
        yield from environment_notes(page.groups)


def machine_notes(done: Sequence[Any]) -> Iterator[str]:
    """Remarks on machines and processes, which decide whether the times of runs compare."""
    if any(run.simulated_time for run in done):
        yield "Some of the times are modelled (simulated time), not measured."
    hardware, threads = sorted({run.hardware for run in done}), sorted({run.threads for run in done if run.threads})
    if len(hardware) > 1:
        yield f"NOT COMPARABLE: measured on {len(hardware)} machines: {'; '.join(hardware)}."
    elif hardware:
        yield f"Measured on {hardware[0]}" + f", {' or '.join(threads)} thread(s) per process" * bool(threads) + "."
    if shared := sum(not run.timed for run in done):
        yield f"No minutes of {counted(shared, 'run')} that shared cores with other cells; `--jobs 1` runs one alone."
    jobs = sorted({run.jobs for run in done if run.shared_cores is None and run.jobs not in ("", "1")})
    if jobs:
        yield f"Some runs shared the machine with others ({' or '.join(jobs)} cells at once): their times are too long."
