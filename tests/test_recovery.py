"""Real commands, real signals: a run that is interrupted or killed goes on and ends with the same rows."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from erlbench.work.held import PREFIX
from tests.runs import FILES, all_rows, heed_interrupts

ARGUMENTS = (
    "--env", "InvertedPendulum-v5", "--total-timesteps", "3000", "--processes", "2",
    "--eval-freq", "500", "--eval-episodes", "2", "--set", "hidden=32-32", "--set", "batch_size=32",
    "--set", "start_timesteps=300", "--checkpoint-every", "0.2", "--device", "cpu",
)  # fmt: skip


def start(out: Path, *more: str, algo: str = "cem-rl") -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "erlbench", "run", "--algo", algo, *ARGUMENTS, "--out", str(out), *more]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, text=True, preexec_fn=heed_interrupts, **pipes)


def folder(out: Path) -> Path:
    return out / "InvertedPendulum-v5" / "cem-rl" / "seed-000"


def children(pid: int) -> list[int]:
    """All descendants of a process (Linux)."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            found += [child, *children(child)]
    return found


def workers(pid: int) -> list[int]:
    """The descendants that use processor time: the workers, not their helpers."""
    return [p for p in children(pid) if "forkserver" in Path(f"/proc/{p}/cmdline").read_text()][1:]


def store_of(pid: int) -> Path:
    """The shared memory of a driver, which holds the lock in it."""
    opened = (Path(os.readlink(link)) for link in Path(f"/proc/{pid}/fd").iterdir())
    return next(path.parent for path in opened if path.parent.name.startswith(PREFIX))


def wait_for(condition, seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.02)


def lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def alive(pids: list[int]) -> list[int]:
    return [pid for pid in pids if Path(f"/proc/{pid}").exists()]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The rows of an uninterrupted run."""
    out = tmp_path_factory.mktemp("whole")
    process = start(out)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return all_rows(folder(out))


@pytest.mark.slow
def test_killed_workers_and_a_killed_driver_change_no_row(tmp_path, whole):
    process = start(tmp_path)
    episodes = folder(tmp_path) / "episodes.csv"
    for count in (60, 90):
        wait_for(lambda count=count: lines(episodes) > count)
        os.kill(workers(process.pid)[0], signal.SIGKILL)
    wait_for(lambda: lines(episodes) > 120)
    family, store = children(process.pid), store_of(process.pid)
    process.kill()
    process.wait()
    wait_for(lambda: not alive(family), 5)
    assert lines(episodes) < len(whole["episodes.csv"])
    again = start(tmp_path)
    _, errors = again.communicate(timeout=120)
    assert again.returncode == 0, errors
    assert all_rows(folder(tmp_path)) == whole
    events = (folder(tmp_path) / "events.csv").read_text()
    assert events.count("worker died") >= 2
    assert "resumed" in events
    assert not store.exists()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_says_how_to_go_on_and_does(tmp_path, whole, number):
    process = start(tmp_path)
    wait_for(lambda: lines(folder(tmp_path) / "episodes.csv") > 70)
    family = children(process.pid)
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "To go on: " in errors
    assert "Traceback" not in errors
    wait_for(lambda: not alive(family), 5)
    assert '"interrupted"' in (folder(tmp_path) / "status.json").read_text()
    again = start(tmp_path)
    again.communicate(timeout=120)
    assert again.returncode == 0
    assert all_rows(folder(tmp_path)) == whole


@pytest.mark.slow
def test_simulated_time_makes_an_asynchronous_run_reproducible(tmp_path):
    rows = []
    for processes in ("1", "3"):
        out = tmp_path / processes
        more = ("--set", "critic_block=100", "--simulated-time", "--processes", processes)
        process = start(out, *more, algo="aes-rl")
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        rows.append(all_rows(out / "InvertedPendulum-v5" / "aes-rl" / "seed-000"))
    assert rows[0] == rows[1]
    assert set(rows[0]) == set(FILES)
