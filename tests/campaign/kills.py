"""Kills of workers, the fork server, second processes and drivers, at any moment: the rows must be the same."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from erlbench.algorithms import registry
from tests.campaign.trials import Running, Trial, check, finish, once, start, write_config
from tests.campaign.warm import WarmRun
from tests.processes import alive, children, command, kill, processes_below, stores_of, wait_for
from tests.runs import all_rows, make_cell

ALGORITHMS = tuple(registry.ALGORITHMS)
SECOND = "second process"
VICTIMS = ("worker", "all workers", "fork server", "driver", "driver, by SIGTERM", "driver, by SIGINT")
KILLS = 3  # at most, in one trial
COLD = 0.15  # share of the trials whose processes all begin with nothing imported
SAVING = 0.25  # share of the attacks that wait for a checkpoint that is being written


def trial(trial: Trial) -> None:
    """One run that is attacked up to three times and continued until it is done."""
    draw = trial.random
    algo = ALGORITHMS[trial.number % len(ALGORITHMS)]
    victims = (*VICTIMS, SECOND) if registry.find(algo).critic_updates else VICTIMS
    victim = victims[(trial.number + trial.number // len(ALGORITHMS)) % len(victims)]
    expected, seconds = _whole(algo, trial.shared)
    words = _words(algo, trial.folder)
    cold = draw.random() < COLD
    cell = make_cell(algo, trial.folder / "results", steps=_steps(algo))
    stores: list[Path] = []
    hits = trial.counts["kills"]
    for attack in range(draw.randint(1, KILLS)):
        known = {path.name for path in cell.directory.glob("lease-*")}  # one that was killed leaves its own
        process = _start(words, trial.folder / f"{attack}.txt", cold)
        _wait_for(process, lambda known=known: {path.name for path in cell.directory.glob("lease-*")} - known)
        known = {path.name for path in cell.directory.glob("checkpoint/*")}
        if victim == SECOND:
            _wait_for(process, lambda process=process: _roles(process.pid)[SECOND])
            time.sleep(draw.uniform(0.0, 0.3))
        elif draw.random() < SAVING:
            _wait_for(process, lambda known=known: _saving(cell.directory, known))
            time.sleep(draw.uniform(0.0, 0.02))
        else:
            time.sleep(draw.uniform(0.0, 1.1 * seconds))
        stores += stores_of(process.pid)
        family = _attack(process, victim, cell.directory, trial)
        output = finish(process)
        check("Traceback" not in output, f"{algo}, {victim}: {output[-1500:]}")
        allowed = (0, 130) if "SIG" in victim else (0, -signal.SIGKILL) if victim == "driver" else (0,)
        check(process.returncode in allowed, f"{algo}, {victim}: exit code {process.returncode}: {output[-800:]}")
        wait_for(lambda family=family: not alive(family), 10, f"{algo}, {victim}: processes left behind")
        trial.counts["starts"] += 1
        if process.returncode == 0:
            break
    trial.counts["trials with a kill"] += trial.counts["kills"] > hits
    process = _start(words, trial.folder / "last.txt", cold)
    output = finish(process)
    trial.counts["starts"] += 1
    trial.counts["cold trials"] += cold
    check(process.returncode == 0, f"{algo}, {victim}: the last start ends with {process.returncode}: {output[-800:]}")
    found = all_rows(cell.directory)
    differing = [name for name in expected if found[name] != expected[name]]
    check(not differing, f"{algo}, {victim}: other rows in {', '.join(differing)}")
    check(not (cell.directory / "replay").exists(), f"{algo}, {victim}: a replay is left behind")
    left = ", ".join(map(str, stores))  # another driver may be removing them
    wait_for(lambda: not any(map(Path.exists, stores)), 10, f"{algo}, {victim}: shared memory is left behind: {left}")


def _start(words: tuple[object, ...], output: Path, cold: bool) -> Running:
    """A run whose temporary folder is that of its output: one that is killed leaves its sockets there."""
    return start(*words, temporary=output.parent) if cold else WarmRun(words, output)


def _wait_for(process: Running, condition: Callable[[], object], pause: float = 0.005) -> None:
    """Until the condition holds or the process has ended."""
    while process.poll() is None and not condition():
        time.sleep(pause)


def _attack(process: Running, victim: str, directory: Path, trial: Trial) -> list[int]:
    """Kill the victim; the processes that the run had then."""
    roles = _roles(process.pid)
    targets = {
        "worker": roles["workers"][:1], "all workers": roles["workers"], "fork server": roles["fork server"],
        SECOND: roles[SECOND][:1],
    }.get(victim, [process.pid])  # fmt: skip
    number = {"driver, by SIGTERM": signal.SIGTERM, "driver, by SIGINT": signal.SIGINT}.get(victim, signal.SIGKILL)
    phase = _phase(directory)
    if process.poll() is None:
        hits = sum(kill(pid, number) for pid in targets)
        trial.counts["kills"] += hits
        trial.counts[f"kills of: {victim}"] += hits
        trial.counts[f"kills {phase}"] += hits
    return roles["family"]


def _roles(driver: int) -> dict[str, list[int]]:
    """The processes below a driver by what they are."""
    servers = [pid for pid in children(driver) if "forkserver" in command(pid)]
    workers = [pid for server in servers for pid in children(server)]
    second = [pid for worker in workers for pid in children(worker)]
    return {"family": processes_below(driver), "fork server": servers, "workers": workers, SECOND: second}


def _saving(directory: Path, known: set[str]) -> bool:
    """Whether a checkpoint is being written, or just was."""
    return any(path.name not in known for path in directory.glob("checkpoint/*"))


def _phase(directory: Path) -> str:
    """What a run does, as far as its folder tells."""
    if any(directory.glob("checkpoint/part-*")):
        return "while it saves"
    if not any(directory.glob("checkpoint/[0-9]*")):
        return "before its first checkpoint"
    try:
        status = json.loads((directory / "status.json").read_text())["status"]
        rows = len((directory / "train.csv").read_text().splitlines())
    except (OSError, ValueError, KeyError):
        return "while it starts"
    return "while it ends" if status == "done" else "while it trains" if rows > 1 else "before its first rows"


def _whole(algo: str, shared: Path) -> tuple[dict[str, list[dict[str, str]]], float]:
    """The rows of a run that nobody attacks, and the seconds from its lock to its end; made once."""

    def make(folder: Path) -> None:
        process = WarmRun(_words(algo, folder), folder / "output.txt")
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
