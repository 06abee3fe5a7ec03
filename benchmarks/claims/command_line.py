"""What a user waits for at the command line: the help, and reports on 1,000 and 10,000 cells."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import tomli_w

from benchmarks.harness import Claim, median, wall_seconds
from erlbench.envs.registry import MUJOCO
from erlbench.records.run import CONFIG

REFERENCE = Path("results/reference")
# Whole runs of 101 evaluations with tasks, and of 301 without: 181 on average.
SOURCES = {
    "halfcheetah/HalfCheetah-v5": ("td3", "sac", "cem-rl"),
    "goodai-lander/LunarLanderContinuous-v3": ("es-5ep", "cma-5ep"),
}
STORED_SEEDS = 3  # of each
COUNTS = {1000: 6.0, 10_000: 60.0}  # cells, and the seconds that their report may take
PROGRAM = (sys.executable, "-m", "erlbench")


def measure() -> Iterator[Claim]:
    """Times, memory and the size of the page."""
    helps = np.array([wall_seconds(lambda: _run("--help")) for _ in range(8)][1:])
    yield Claim("erlbench --help", median(helps), 0.3, at_least=False, unit="s", samples={"seconds": helps})
    for count, seconds in COUNTS.items():
        with tempfile.TemporaryDirectory() as folder:
            cells = copy_cells(Path(folder) / "results", count)
            yield from _report(Path(folder), f"erlbench report, {cells:,} copies of stored runs", seconds)


def _report(folder: Path, claim: str, most: float) -> Iterator[Claim]:
    """Its time, the memory of its largest process, and the size of its page."""
    command = [*PROGRAM, "report", str(folder / "results"), "--out", str(folder / "report")]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        raise RuntimeError(f"{' '.join(command)} failed")
    yield Claim(claim, seconds, most, at_least=False, unit="s")
    yield Claim(f"{claim}: memory", used.ru_maxrss / 2**20, 1.0, at_least=False, unit="GiB")
    size = (folder / "report" / "index.html").stat().st_size
    yield Claim(f"{claim}: page", size / 1e6, 3.0, at_least=False, unit="MB")


def _run(*arguments: str) -> None:
    subprocess.run([*PROGRAM, *arguments], check=True, capture_output=True)


def copy_cells(results: Path, count: int) -> int:
    """Copy about `count` cells below `results`, in ten environments; how many.

    Only `config.toml` differs from the stored one. All other files have the checksums of their `status.json`.
    """
    sources = [(folder, name) for folder, names in SOURCES.items() for name in names]
    environments = MUJOCO[:10]
    seeds = range(max(1, count // (len(environments) * len(sources))))
    for env, (folder, name), seed in product(environments, sources, seeds):
        copy = results / env / name / f"seed-{seed:03d}"
        shutil.copytree(REFERENCE / folder / name / f"seed-{seed % STORED_SEEDS:03d}", copy)
        config = tomllib.loads((copy / CONFIG).read_text())
        config["run"] |= {"env": env, "seed": seed}
        (copy / CONFIG).write_text(tomli_w.dumps(config))
    return len(environments) * len(sources) * len(seeds)
