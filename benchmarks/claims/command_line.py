"""What a user waits for at the command line: the help, and the report on a thousand cells."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Claim, median, wall_seconds
from erlbench.envs.registry import MUJOCO
from erlbench.records.schema import EvaluationRow, TaskRow, header

ALGORITHMS, SEEDS, ROWS = ("td3", "cem", "cem-rl", "aes-rl", "p-cem-rl"), 20, 200
ENVIRONMENTS = MUJOCO[:10]
TRAIN_COLUMNS = ("generation", "timesteps", "train_time_s", "critic_updates", "actor_updates")
PROGRAM = (sys.executable, "-m", "erlbench")


def measure() -> Iterator[Claim]:
    """Two times."""
    helps = np.array([wall_seconds(lambda: _run("--help")) for _ in range(8)][1:])
    yield Claim("erlbench --help", median(helps), 0.3, at_least=False, unit="s", samples={"seconds": helps})
    with tempfile.TemporaryDirectory() as folder:
        cells = write_cells(Path(folder) / "results")
        seconds = wall_seconds(lambda: _run("report", f"{folder}/results", "--out", f"{folder}/report"))
    claim = f"erlbench report, {cells} cells of {ROWS} evaluations"
    yield Claim(claim, seconds, 10.0, at_least=False, unit="s")


def _run(*arguments: str) -> None:
    subprocess.run([*PROGRAM, *arguments], check=True, capture_output=True)


def write_cells(results: Path) -> int:
    """Finished runs with made-up learning curves; how many."""
    cells = [(env, name, seed) for env in ENVIRONMENTS for name in ALGORITHMS for seed in range(SEEDS)]
    for number, (env, name, seed) in enumerate(cells):
        folder = results / env / name / f"seed-{seed:03d}"
        folder.mkdir(parents=True)
        _write_cell(folder, env, name, seed, np.random.default_rng(number).normal(0, 20, ROWS).cumsum())
    return len(cells)


def _write_cell(folder: Path, env: str, name: str, seed: int, returns: np.ndarray) -> None:
    steps = [5000 * row for row in range(len(returns))]
    last = steps[-1]
    evaluations = [
        dict.fromkeys(header(EvaluationRow), row) | {
            "final": 0, "timesteps": step, "return_mean": value, "return_std": 1.0,
            "returns": f"{value - 1} {value + 1}", "lengths": "1000 1000",
        }
        for row, (step, value) in enumerate(zip(steps, returns, strict=True))
    ]  # fmt: skip
    evaluations[-1]["final"] = 1
    train = [dict.fromkeys(TRAIN_COLUMNS, row) | {"timesteps": step} for row, step in enumerate(steps)]
    _write_rows(folder / "eval.csv", header(EvaluationRow), evaluations)
    _write_rows(folder / "train.csv", TRAIN_COLUMNS, train)
    _write_rows(folder / "tasks.csv", header(TaskRow), [])
    (folder / "config.toml").write_text(
        f'[run]\nenv = "{env}"\nalgo = "{name}"\npreset = "paper"\nname = "{name}"\nseed = {seed}\n'
        f"total_timesteps = {last}\nworkers = 5\neval_freq = 5000\neval_episodes = 2\n"
        'evaluate = "during"\nsimulated_time = false\n\n[settings]\n'
    )
    (folder / "meta.json").write_text(json.dumps({"cpu": "none", "cores": 2, "gpus": [], "versions": {}, "starts": []}))
    status = {"status": "done", "message": "", "timesteps": last, "total_timesteps": last, "train_time_s": 1.0,
              "total_time_s": 1.0, "return_mean": float(returns[-1])}  # fmt: skip
    (folder / "status.json").write_text(json.dumps(status))


def _write_rows(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
