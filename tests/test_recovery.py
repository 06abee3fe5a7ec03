"""Real commands, real signals: a run that is interrupted or killed goes on and ends with the same rows."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from erlbench.running.checkpoint import saved_steps
from tests.processes import alive, command, lines, processes_below, stores_of, wait_for
from tests.runs import FILES, all_rows, heed_interrupts, write_options

ARGUMENTS = (
    "--env", "InvertedPendulum-v5", "--total-timesteps", "3000", "--processes", "2",
    "--eval-freq", "500", "--eval-episodes", "2", "--set", "hidden=32-32", "--set", "batch_size=32",
    "--set", "start_timesteps=300", "--device", "cpu",
)  # fmt: skip


def start(out: Path, *more: str, algo: str = "cem-rl") -> subprocess.Popen[str]:
    config = write_options(out.with_name(f"{out.name}.toml"), checkpoint_every=0.2)
    words = ("--algo", algo, *ARGUMENTS, "--config", config, "--out", str(out), *more)
    command = [sys.executable, "-m", "erlbench", "run", *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, text=True, preexec_fn=heed_interrupts, **pipes)


def folder(out: Path) -> Path:
    return out / "InvertedPendulum-v5" / "cem-rl" / "seed-000"


def workers(pid: int) -> list[int]:
    """The descendants that use processor time: the workers, not their helpers."""
    return [below for below in processes_below(pid) if "forkserver" in command(below)][1:]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The rows of an uninterrupted run."""
    out = tmp_path_factory.mktemp("whole")
    process = start(out)
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    return all_rows(folder(out))


@pytest.mark.usefixtures("temporary_folder")
def test_killed_workers_and_a_killed_driver_change_no_row(tmp_path, whole):
    process = start(tmp_path)
    episodes = folder(tmp_path) / "episodes.csv"
    for count in (60, 90):
        wait_for(lambda count=count: lines(episodes) > count)
        os.kill(workers(process.pid)[0], signal.SIGKILL)
    wait_for(lambda: lines(episodes) > 120)
    family, stores = processes_below(process.pid), stores_of(process.pid)
    assert stores
    process.kill()
    process.wait()
    wait_for(lambda: not alive(family))
    assert lines(episodes) < len(whole["episodes.csv"])
    again = start(tmp_path)
    _, errors = again.communicate(timeout=600)
    assert again.returncode == 0, errors
    assert all_rows(folder(tmp_path)) == whole
    events = (folder(tmp_path) / "events.csv").read_text()
    assert events.count("worker died") >= 2
    assert "resumed" in events
    assert not any(store.exists() for store in stores)


@pytest.mark.slow
@pytest.mark.usefixtures("temporary_folder")
@pytest.mark.parametrize(("every", "number"), [(9, 1), (0.2, 3)])
def test_show_tells_at_which_step_a_killed_run_goes_on(tmp_path, every, number):
    """Killed before there is a checkpoint but that of its begin, and later."""
    run = tmp_path / "InvertedPendulum-v5" / "cem" / "seed-000"
    config = write_options(tmp_path / "options.toml", checkpoint_every=every)
    more = ("--processes", "1", "--config", config, "--out", str(tmp_path))
    command = [sys.executable, "-m", "erlbench", "run", "--algo", "cem", *ARGUMENTS[:4], *more]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: lines(run / "episodes.csv") > 2 and (run / "checkpoint" / f"{number:06d}").exists())
    process.kill()
    process.wait()
    steps = saved_steps(run)
    assert (steps == 0) == (number == 1)
    shown = subprocess.run([*command[:3], "show", str(tmp_path)], capture_output=True, text=True, check=True).stdout
    assert (f"continues it from {steps:,} steps" if steps else "starts it again from 0") in shown
    subprocess.run(command, check=True, capture_output=True)
    assert f"continued at {steps} timesteps" in (run / "events.csv").read_text()


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_an_interrupted_run_says_how_to_go_on_and_does(tmp_path, whole, number):
    process = start(tmp_path)
    wait_for(lambda: lines(folder(tmp_path) / "episodes.csv") > 70)
    family = processes_below(process.pid)
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "To go on:\n" in errors
    assert "Traceback" not in errors
    wait_for(lambda: not alive(family))
    assert '"interrupted"' in (folder(tmp_path) / "status.json").read_text()
    again = start(tmp_path)
    again.communicate(timeout=600)
    assert again.returncode == 0
    assert all_rows(folder(tmp_path)) == whole


@pytest.mark.slow
def test_simulated_time_makes_an_asynchronous_run_reproducible(tmp_path):
    rows = []
    for processes in ("1", "3"):
        out = tmp_path / processes
        more = ("--set", "critic_block=100", "--simulated-time", "--processes", processes)
        process = start(out, *more, algo="aes-rl")
        _, errors = process.communicate(timeout=600)
        assert process.returncode == 0, errors
        rows.append(all_rows(out / "InvertedPendulum-v5" / "aes-rl" / "seed-000"))
    assert rows[0] == rows[1]
    assert set(rows[0]) == set(FILES)
