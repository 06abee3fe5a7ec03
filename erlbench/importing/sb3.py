"""Stable-Baselines3: evaluations.npz of its EvalCallback, and monitor.csv of its Monitor.

Its `num_timesteps` counts all steps of training, so there are no fitness steps. Neither file says algorithm or seed;
evaluations.npz does not say the environment, either, nor any time.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from erlbench.importing.columns import foreign_columns, numbers
from erlbench.importing.npz import arrays
from erlbench.importing.source import (
    Evaluated,
    ForeignRun,
    TrainingEpisodes,
    checked_returns,
    checked_steps,
    content,
    refuse,
)

PROGRAM = "sb3"
EVALUATIONS, MONITOR = "evaluations.npz", "monitor.csv"
COLUMNS = ("r", "l", "t")


def read_evaluations(path: Path) -> ForeignRun:
    """`timesteps` (e,), `results` (e, episodes) and `ep_lengths`, which older versions lack."""
    data, digest = content(path)
    found = arrays(path, data, ("timesteps", "results"), ("ep_lengths",))
    steps, results, lengths = found["timesteps"], found["results"], found.get("ep_lengths")
    if steps.ndim != 1 or results.ndim != 2 or len(steps) != len(results) or not results.size:
        refuse(path, f"timesteps {steps.shape} and results {results.shape} are no evaluations of Stable-Baselines3")
    if lengths is not None and (lengths.shape != results.shape or lengths.dtype.kind not in "iu" or lengths.min() < 0):
        refuse(path, "ep_lengths are no lengths of the episodes of results")
    results = checked_returns(path, results)
    return ForeignRun(
        path, "Stable-Baselines3's evaluations.npz", program=PROGRAM, digests={path.name: digest},
        fitness_timesteps=0.0,
        evaluated=Evaluated(
            checked_steps(path, steps), results.mean(axis=1), tuple(map(tuple, results.tolist())),
            () if lengths is None else tuple(map(tuple, lengths.tolist())),
        ),
    )  # fmt: skip


def read_monitors(paths: Sequence[Path]) -> ForeignRun:
    """The monitor files of one run, merged by the clock as Stable-Baselines3's `load_results` does it.

    Training steps are the lengths added up.
    """
    parts, starts, envs, digests = [], [], set(), {}
    for path in paths:
        comment, cells, digest = foreign_columns(path, COLUMNS)
        header = _header(path, comment)
        starts.append(header[0])
        envs.add(header[1])
        parts.append(np.column_stack([numbers(path, name, cells[name]) for name in COLUMNS]))
        digests[path.name] = digest
    if len(envs) > 1:
        refuse(paths[0].parent, f"its monitor files are of several environments: {', '.join(sorted(envs))}")
    for part, start in zip(parts, starts, strict=True):
        part[:, 2] += start - min(starts)
    rows = np.concatenate(parts)
    rows = rows[np.argsort(rows[:, 2], kind="stable")] if len(paths) > 1 else rows
    path = paths[0]
    checked_returns(path, rows[:, 0])
    if (rows[:, 1] < 1).any() or (np.diff(rows[:, 2]) < 0).any():
        refuse(path, "an episode has no steps, or times fall; a file of several runs is given as one file each")
    played = TrainingEpisodes(rows[:, 0], rows[:, 1], rows[:, 2], checked_steps(path, rows[:, 1].cumsum()))
    return ForeignRun(
        path, "Stable-Baselines3's monitor.csv", program=PROGRAM, digests=digests, env=envs.pop(), played=played,
        fitness_timesteps=0.0,
    )  # fmt: skip


def _header(path: Path, comment: str) -> tuple[float, str]:
    """When the file began, in seconds, and the environment's id; "None" stands there without one."""
    try:
        said = json.loads(comment or "{}")
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        refuse(path, "its first line is no header of Stable-Baselines3's Monitor")
    start, env = said.get("t_start", 0.0), said.get("env_id")
    if not isinstance(start, int | float) or not abs(start) < 1e12:
        refuse(path, "its t_start is no time")
    return float(start), env if isinstance(env, str) and env != "None" else ""
