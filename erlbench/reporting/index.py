"""The report's first page: what there is, what it was measured on, what did not finish, how to repeat it."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from erlbench.reporting.comparison import run_status
from erlbench.reporting.page import Page
from erlbench.reporting.runs import Run
from erlbench.reporting.tables import escape

if TYPE_CHECKING:
    from erlbench.experiment.studies import Study

MOST_LINES = 200  # of one list; the rest is in cells.csv
CELL_COLUMNS = (
    "env", "name", "seed", "status", "timesteps", "total_timesteps", "return_mean", "train_time_s", "updated",
    "message", "studies", "path", "command",
)  # fmt: skip


def write_index(
    out: Path, pages: Sequence[Page], runs: Sequence[Run], studies: Mapping[str, Study], warnings: Sequence[str]
) -> Path:
    """Write `index.md` and `cells.csv`, and return the former's path."""
    _write_cells(out / "cells.csv", pages, runs)
    sections = [
        ["# Report", "", _summary(runs), ""],
        _studies(pages, studies),
        _warnings(warnings),
        _unfinished(runs),
        _machines(runs),
        _commands(runs),
    ]
    path = out / "index.md"
    path.write_text("\n".join(line for section in sections for line in section), encoding="utf-8")
    return path


def _summary(runs: Sequence[Run]) -> str:
    counts = Counter(run.status for run in runs)
    states = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    times = sorted(time for run in runs for time in (*run.machine.started, run.updated) if time)
    when = f" Started and updated between {times[0]} and {times[-1]}." if times else ""
    seeds = "runs" if len(runs) > 1 else "run"
    return escape(f"{len(runs)} {seeds}: {states}.{when}") + " All of them, one a line: [cells.csv](cells.csv)."


def _studies(pages: Sequence[Page], studies: Mapping[str, Study]) -> list[str]:
    lines = ["## Contents", "", "| page | what | profile | finished runs |", "|---|---|---|---:|"]
    for page in pages:
        c = page.comparison
        lines.append(
            f"| [{c.name}]({page.link}) | {escape(c.title)} | {escape(c.profile) or '–'} | {page.done}/{page.planned} |"
        )
    shown = {page.comparison.study for page in pages}
    for study in studies.values():
        if study.name not in shown:
            lines.append(f"| {study.name} | {escape(study.title)} | – | not run |")
    return [*lines, ""]


def _warnings(warnings: Sequence[str]) -> list[str]:
    if not warnings:
        return []
    return ["## Warnings", "", *_limited(f"- {escape(text)}" for text in warnings), ""]


def _unfinished(runs: Sequence[Run]) -> list[str]:
    open_runs = [run for run in runs if not run.done]
    if not open_runs:
        return []
    lines = (
        f"- {escape(f'{run.name} on {run.env}, seed {run.seed}: {run_status(run)}')}"
        + (f", last update {run.updated}" if run.updated else "")
        for run in open_runs
    )
    return ["## Runs that are not finished", "", *_limited(lines), ""]


def _machines(runs: Sequence[Run]) -> list[str]:
    hardware = Counter(run.machine.hardware for run in runs)
    software = Counter(run.machine.software for run in runs)
    lines = ["## Machines and versions", ""]
    lines += [f"- {escape(text)} ({count} {_runs(count)})" for text, count in hardware.most_common()]
    return [*lines, *(f"- {escape(text)} ({count} {_runs(count)})" for text, count in software.most_common()), ""]


def _commands(runs: Sequence[Run]) -> list[str]:
    commands = Counter(run.machine.command for run in runs if run.machine.command)
    if not commands:
        return []
    text = ["## How to reproduce", "", "The command lines of the runs (each run's last start), from meta.json:", ""]
    return [*text, "```sh", *_limited(" ".join(command.split()) for command in commands), "```", ""]


def _write_cells(path: Path, pages: Sequence[Page], runs: Sequence[Run]) -> None:
    where: dict[tuple[str, str, int, int], list[str]] = {}
    for page in pages:
        for run in page.comparison.runs:
            where.setdefault(run.key, []).append(page.comparison.name)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(CELL_COLUMNS)
        for run in runs:
            last = repr(float(run.evaluations.return_mean[-1])) if len(run.evaluations) else ""
            writer.writerow([
                run.env, run.name, run.seed, run.status, run.timesteps, run.total_timesteps, last, run.train_time_s,
                run.updated, run.message, " ".join(where.get(run.key, [])), run.path, run.machine.command,
            ])  # fmt: skip


def _limited(lines: Iterable[str]) -> list[str]:
    lines = list(lines)
    more = len(lines) - MOST_LINES
    return lines[:MOST_LINES] + ([f"... and {more} more"] if more > 0 else [])


def _runs(count: int) -> str:
    return "runs" if count > 1 else "run"
