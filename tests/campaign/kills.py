"""Kills of workers, the fork server, second processes and drivers, at any moment: the rows must be the same."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from erlbench.algorithms import registry
from erlbench.work.store import PREFIX
from tests.campaign.trials import Trial, alive, check, finish, kill, processes_below, start, wait_for, write_config
from tests.runs import all_rows, make_cell

ALGORITHMS = tuple(registry.ALGORITHMS)
VICTIMS = (
    "worker",
    "all workers",
    "fork server",
    "second process",
    "driver",
    "driver, by SIGTERM",
    "driver, by SIGINT",
)
KILLS = 3  # at most, in one trial


def trial(trial: Trial) -> None:
    """One run that is attacked up to three times and continued until it is done."""
    draw = trial.random
    algo = ALGORITHMS[trial.number % len(ALGORITHMS)]
    victim = VICTIMS[(trial.number + trial.number // len(ALGORITHMS)) % len(VICTIMS)]
    expected, seconds = _whole(algo)
    words = _words(algo, trial.folder)
    cell = make_cell(algo, trial.folder / "results", steps=_steps(algo))
    stores: list[Path] = []
    for _ in range(draw.randint(1, KILLS)):
        process = start(*words)
        _wait_for_lock(process, cell.directory)
        time.sleep(draw.uniform(0.0, 1.1 * seconds))
        stores += _stores(process.pid)
        family = _attack(process, victim, trial)
        output = finish(process)
        check("Traceback" not in output, f"{algo}, {victim}: {output[-1500:]}")
        allowed = (0, 130) if "SIG" in victim else (0, -signal.SIGKILL) if victim == "driver" else (0,)
        check(process.returncode in allowed, f"{algo}, {victim}: exit code {process.returncode}: {output[-800:]}")
        wait_for(lambda family=family: not alive(family), 10, f"{algo}, {victim}: processes left behind")
        trial.counts["starts"] += 1
        if process.returncode == 0:
            break
    process = start(*words)
    output = finish(process)
    trial.counts["starts"] += 1
    check(process.returncode == 0, f"{algo}, {victim}: the last start ends with {process.returncode}: {output[-800:]}")
    found = all_rows(cell.directory)
    differing = [name for name in expected if found[name] != expected[name]]
    check(not differing, f"{algo}, {victim}: other rows in {', '.join(differing)}")
    check(not (cell.directory / "replay").exists(), f"{algo}, {victim}: a replay is left behind")
    left = [str(store) for store in stores if store.exists()]
    check(not left, f"{algo}, {victim}: shared memory is left behind: {', '.join(left)}")


def _wait_for_lock(process: subprocess.Popen[str], directory: Path) -> None:
    while process.poll() is None and not list(directory.glob("lease-*")):
        time.sleep(0.02)


def _attack(process: subprocess.Popen[str], victim: str, trial: Trial) -> list[int]:
    """Kill the victim; the processes that the run had then."""
    family = processes_below(process.pid)
    servers = [pid for pid in family if "forkserver" in _command(pid)]
    workers = servers[1:]
    second = [pid for pid in workers if _parent(pid) in workers]
    first = [pid for pid in workers if pid not in second]
    targets = {
        "worker": first[:1], "all workers": first, "fork server": servers[:1], "second process": second[:1],
    }.get(victim, [process.pid])  # fmt: skip
    number = {"driver, by SIGTERM": signal.SIGTERM, "driver, by SIGINT": signal.SIGINT}.get(victim, signal.SIGKILL)
    if process.poll() is None:
        hits = sum(kill(pid, number) for pid in targets)
        trial.counts["kills"] += hits
        trial.counts[f"kills of: {victim}"] += hits
    return family


@functools.cache
def _whole(algo: str) -> tuple[dict[str, list[dict[str, str]]], float]:
    """The rows of a run that nobody attacks, and the seconds from its lock to its end; made once."""
    with tempfile.TemporaryDirectory(prefix="campaign-whole-") as folder:
        process = start(*_words(algo, Path(folder)))
        cell = make_cell(algo, Path(folder) / "results", steps=_steps(algo))
        _wait_for_lock(process, cell.directory)
        begun = time.monotonic()
        output = finish(process)
        check(process.returncode == 0, f"{algo} without an attack: {output[-800:]}")
        return all_rows(cell.directory), time.monotonic() - begun


def _words(algo: str, folder: Path) -> tuple[object, ...]:
    cell = make_cell(algo, folder / "results", steps=_steps(algo))
    ordered = registry.find(algo).is_synchronous(cell.settings)
    config = write_config(replace(cell, simulated_time=not ordered), folder / "config.toml")
    return "--config", config, "--out", folder / "results", "--processes", 2, "--checkpoint-every", 0.3


def _steps(algo: str) -> int:
    return 600 if registry.entry(algo).critic_updates else 1500


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _stores(pid: int) -> list[Path]:
    """The folders in shared memory whose lock a driver holds."""
    found = []
    try:
        for link in Path(f"/proc/{pid}/fd").iterdir():
            path = Path(os.readlink(link))
            found += [path.parent] if path.parent.name.startswith(PREFIX) else []
    except OSError:
        pass
    return found
