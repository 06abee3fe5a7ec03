"""A long run: memory and open files of the driver and its workers stay as they are."""

from __future__ import annotations

import os
import time
from pathlib import Path

from tests.campaign.trials import Trial, check, finish, start, write_config
from tests.processes import processes_below
from tests.runs import make_cell

GENERATIONS = 10_000
GROWTH = 24.0  # MiB that memory may grow over a run; a leak of 3 KB a generation would be more
EVERY = 0.05  # seconds between two looks; a fast machine makes 600 generations in two seconds


def trial(trial: Trial, generations: int = GENERATIONS) -> None:
    """CEM with four individuals and episodes of at most two steps."""
    settings = {"population": 4, "elites": 2}
    cell = make_cell(
        "cem", trial.folder / "results", steps=10**9, settings=settings, total_generations=generations, eval_freq=1000,
        env_settings={"max_episode_steps": 2}, workers=4,
    )  # fmt: skip
    config = write_config(cell, trial.folder / "config.toml", checkpoint_every=5)
    process = start("--config", config, "--out", trial.folder / "results", "--processes", 2)
    looks: list[list[tuple[float, int]]] = []
    while process.poll() is None:
        time.sleep(EVERY)
        if (generation := _generation(cell.directory)) > generations // 10:
            looks.append([_look(pid) for pid in [process.pid, *sorted(processes_below(process.pid))]])
            trial.counts["generations"] = max(generation, trial.counts["generations"])
    output = finish(process)
    check(process.returncode == 0, f"exit code {process.returncode}: {output[-800:]}")
    trial.counts["generations"] = _generation(cell.directory)
    same = [look for look in looks if len(look) == len(looks[0]) and all(memory for memory, _ in look)]
    check(len(same) >= 4, f"only {len(same)} looks at {len(looks)} moments")
    for place in range(len(same[0])):
        first, last = (
            _mean([look[place] for look in part]) for part in (same[: len(same) // 4], same[-len(same) // 4 :])
        )
        who = "driver" if place == 0 else f"process {place}"
        trial.counts[f"KiB that the {who} grew"] = round(1024 * (last[0] - first[0]))
        check(last[0] - first[0] < GROWTH, f"{who}: {first[0]:.1f} to {last[0]:.1f} MiB")
        check(last[1] - first[1] < 3, f"{who}: {first[1]:.0f} to {last[1]:.0f} open files")


def _mean(values: list[tuple[float, int]]) -> tuple[float, float]:
    return sum(memory for memory, _ in values) / len(values), sum(count for _, count in values) / len(values)


def _generation(directory: Path) -> int:
    """The last generation of train.csv."""
    try:
        return int((directory / "train.csv").read_text().splitlines()[-1].partition(",")[0])
    except (OSError, ValueError, IndexError):
        return 0


def _look(pid: int) -> tuple[float, int]:
    """Resident memory in MiB, and the number of open files."""
    try:
        resident = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
        return resident, len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0.0, 0
