"""Kills of workers, the fork server and drivers, at any moment: the rows must be the same."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from subprocess import Popen

from erlbench.algorithms import registry
from tests.campaign.trials import Trial, check, finish, once, start, write_config
from tests.processes import alive, children, command, kill, processes_below, stores_of, wait_for
from tests.runs import all_rows, make_cell

ALGORITHMS = tuple(registry.ALGORITHMS)
VICTIMS = ("worker", "all workers", "fork server", "driver", "driver, by SIGTERM", "driver, by SIGINT")
KILLS = 3  # at most, in one trial
SAVING = 0.25  # share of the attacks that wait for a checkpoint that is being written


def trial(trial: Trial) -> None:
    """One run that is attacked up to three times and continued until it is done."""
    draw = trial.random
    algo = ALGORITHMS[trial.number % len(ALGORITHMS)]
    victim = VICTIMS[(trial.number + trial.number // len(ALGORITHMS)) % len(VICTIMS)]
    expected, seconds = _whole(algo, trial.shared)
    words, cell = _words(algo, trial.folder), make_cell(algo, trial.folder / "results", steps=_steps(algo))
    stores: list[Path] = []

    def names(pattern: str) -> set[Path]:
        return set(cell.directory.glob(pattern))

    for _ in range(draw.randint(1, KILLS)):
        leases, checkpoints = names("lease-*"), names("checkpoint/*")  # one that was killed leaves its own
        process = start(*words, temporary=trial.folder)
        _wait_for(process, lambda leases=leases: names("lease-*") - leases)
        if draw.random() < SAVING:
            _wait_for(process, lambda checkpoints=checkpoints: names("checkpoint/*") - checkpoints)
        else:
            time.sleep(draw.uniform(0.0, 1.1 * seconds))
        _wait_for(process, lambda process=process: _targets(process.pid, victim))
        stores += stores_of(process.pid)
        family, targets = processes_below(process.pid), _targets(process.pid, victim)
        number = {"driver, by SIGTERM": signal.SIGTERM, "driver, by SIGINT": signal.SIGINT}.get(victim, signal.SIGKILL)
        if process.poll() is None:
            trial.counts[f"kills of: {victim}"] += sum(kill(pid, number) for pid in targets)
        output, what = finish(process), f"{algo}, {victim}"
        check("Traceback" not in output, f"{what}: {output[-1500:]}")
        allowed = (0, 130) if "SIG" in victim else (0, -signal.SIGKILL) if victim == "driver" else (0,)
        check(process.returncode in allowed, f"{what}: exit code {process.returncode}: {output[-800:]}")
        wait_for(lambda family=family: not alive(family), 10, f"{what}: processes left behind")
        if process.returncode == 0:
            break
    process = start(*words, temporary=trial.folder)
    output = finish(process)
    check(process.returncode == 0, f"{what}: the last start ends with {process.returncode}: {output[-800:]}")
    rows = all_rows(cell.directory)
    differing = [name for name in expected if rows[name] != expected[name]]
    check(not differing, f"{what}: other rows in {', '.join(differing)}")
    check(not (cell.directory / "replay").exists(), f"{what}: a replay is left behind")
    left = ", ".join(map(str, stores))  # another driver may be removing them
    wait_for(lambda: not any(map(Path.exists, stores)), 10, f"{what}: shared memory is left behind: {left}")


def _wait_for(process: Popen[str], condition: Callable[[], object]) -> None:
    """Until the condition holds or the process has ended."""
    while process.poll() is None and not condition():
        time.sleep(0.005)


def _targets(driver: int, victim: str) -> list[int]:
    """The processes of a run that are to be killed."""
    servers = [pid for pid in children(driver) if "forkserver" in command(pid)]
    workers = [pid for server in servers for pid in children(server)]
    return {"worker": workers[:1], "all workers": workers, "fork server": servers}.get(victim, [driver])


def _whole(algo: str, shared: Path) -> tuple[dict[str, list[dict[str, str]]], float]:
    """The rows of a run that nobody attacks, and the seconds from its lock to its end; made once."""

    def make(folder: Path) -> None:
        process = start(*_words(algo, folder))
        _wait_for(process, lambda: list(folder.rglob("lease-*")))
        begun = time.monotonic()
        output = finish(process)
        check(process.returncode == 0, f"{algo} without an attack: {output[-800:]}")
        (folder / "seconds").write_text(str(time.monotonic() - begun))

    folder = once(shared / f"whole-{algo}", make)
    cell = make_cell(algo, folder / "results", steps=_steps(algo))
    return all_rows(cell.directory), float((folder / "seconds").read_text())


def _words(algo: str, folder: Path) -> tuple[object, ...]:
    cell = make_cell(algo, folder / "results", steps=_steps(algo))
    ordered = registry.find(algo).is_synchronous(cell.settings)
    config = write_config(replace(cell, simulated_time=not ordered), folder / "config.toml", checkpoint_every=0.3)
    return "--config", config, "--out", folder / "results", "--processes", 2


def _steps(algo: str) -> int:
    return 600 if registry.find(algo).critic_updates else 1500
