"""Environments that misbehave, and limits of the machine: told with what to do, and continued when they are gone."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.campaign.trials import Trial, check, finish, start, write_config
from tests.runs import all_rows, make_cell, run

HOWS = (
    "none", "reward", "observation", "raise", "observation-1e39", "reward-1e308", "shape", "matrix", "complex", "list"
)  # fmt: skip
ALGORITHMS = ("cem", "td3", "cem-rl", "openai-es")
PROCESSES = (1, 2, 0)


def environment(trial: Trial) -> None:
    """One of ten environments with one of four algorithms, with 1, 2 and 0 processes: the same outcome."""
    how = HOWS[trial.number % len(HOWS)]
    algo = ALGORITHMS[trial.number // len(HOWS) % len(ALGORITHMS)]
    outcomes = []
    for processes in PROCESSES:
        out = trial.folder / str(processes)
        cell = make_cell(algo, out, env=f"tests.environments:Broken-{how}-v0", steps=120, settings=_few(algo))
        code = run(cell, processes=processes, admission=False)
        text = (cell.directory / "status.json").read_text()
        what = f"{algo} on {how} with {processes} processes"
        check(code == (how not in ("none",)), f"{what}: exit code {code}: {text[-400:]}")
        check("Traceback" not in text and ("inf" not in text or how != "none"), f"{what}: {text[-400:]}")
        outcomes.append(all_rows(cell.directory) if code == 0 else code)
        trial.counts["runs"] += 1
    check(outcomes[0] == outcomes[1] == outcomes[2], f"{algo} on {how}: other rows with other processes")


def _few(algo: str) -> dict[str, object]:
    return {"population": 4} if algo == "openai-es" else {}


def _limit(kind: int, value: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(kind, (value, value))


def limits(trial: Trial) -> None:
    """A run that meets a limit of its shell: a message, exit code 1 or 2, and the same rows once the limit is gone."""
    draw = trial.random
    kind, low, high, words = draw.choice((
        (resource.RLIMIT_FSIZE, 200, 60_000, ("larger than this shell allows",)),
        (resource.RLIMIT_NOFILE, 12, 60, ("too many open files", "Too many open files")),
    ))  # fmt: skip
    value, algo = draw.randrange(low, high), draw.choice(("cem", "td3"))
    cell = make_cell(algo, trial.folder / "results", steps=400, workers=10 if algo == "cem" else 0)
    config = write_config(cell, trial.folder / "config.toml", checkpoint_every=0.3)
    options = ("--config", config, "--out", trial.folder / "results", "--processes", 1)
    process = start(*options, limit=_limit(kind, value))
    output = finish(process)
    what = f"{algo} with {'files of' if kind == resource.RLIMIT_FSIZE else 'open files'} {value}"
    trial.counts[f"starts under a limit that end with {process.returncode}"] += 1
    check(process.returncode in (0, 1, 2), f"{what}: exit code {process.returncode}: {output[-800:]}")
    check("Traceback" not in output, f"{what}: {output[-1500:]}")
    check(process.returncode == 0 or any(word in output for word in words), f"{what}: {output[-800:]}")
    process = start(*options)
    output = finish(process)
    check(process.returncode == 0, f"{what}, then without: {output[-800:]}")
    whole = make_cell(algo, trial.folder / "whole", steps=400, workers=10 if algo == "cem" else 0)
    check(run(whole) == 0, "the run without limits")
    check(all_rows(cell.directory) == all_rows(whole.directory), f"{what}: other rows")


def disk(trial: Trial) -> None:
    """A disk that is full, as root may make one: a message, exit code 1, and the same rows once there is room."""
    size, algo = trial.random.randrange(30, 400), trial.random.choice(("cem", "td3"))
    place = trial.folder / "results"
    place.mkdir()
    if os.geteuid() or _mount(f"size={size}k", place):
        trial.counts["disks that nobody could make"] += 1
        return
    try:
        cell = make_cell(algo, place, steps=400, workers=10 if algo == "cem" else 0)
        config = write_config(cell, trial.folder / "config.toml", checkpoint_every=0.3)
        options = ("--config", config, "--out", place, "--processes", 1)
        process = start(*options)
        output, what = finish(process), f"{algo} on a disk of {size} KiB"
        trial.counts[f"starts on a small disk that end with {process.returncode}"] += 1
        check("Traceback" not in output, f"{what}: {output[-1500:]}")
        check(
            process.returncode == 0 or (process.returncode == 1 and "the disk is full" in output), f"{what}: {output}"
        )
        check(_mount("remount,size=64m", place) == 0, "the disk cannot be made larger")
        process = start(*options)
        output = finish(process)
        check(process.returncode == 0, f"{what}, then on a larger one: {output[-800:]}")
        whole = make_cell(algo, trial.folder / "whole", steps=400, workers=10 if algo == "cem" else 0)
        check(run(whole) == 0, "the run on another disk")
        check(all_rows(cell.directory) == all_rows(whole.directory), f"{what}: other rows")
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=False)


def _mount(options: str, place: Path) -> int:
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
    return subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode
