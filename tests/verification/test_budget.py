"""Runs whose settings ask for endless steps, and large files: an answer in time, signals that work, little memory."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
import tomli_w
from click.testing import CliRunner

from erlbench.cli import cli
from erlbench.verification import UNKNOWN, comparison, verify
from erlbench.verification.comparison import run_again
from tests.processes import wait_for
from tests.runs import heed_interrupts, make_cell, run

ERLBENCH = Path(sys.executable).with_name("erlbench")
SMALL = {"population": 4, "elites": 2}


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """The folder of a run of a robot that is done."""
    cell = make_cell("cem", tmp_path_factory.mktemp("whole"), "Hopper-v5", steps=200, settings=SMALL)
    assert run(cell) == 0
    return cell.directory


@pytest.fixture
def endless(whole, tmp_path) -> Path:
    """The run with a step that takes a day, all of it in C."""
    folder = tmp_path / "endless"
    shutil.copytree(whole, folder)
    config = tomllib.loads((folder / "config.toml").read_text())
    config["run"].pop("workers", None)  # which the command line gives to no run of this algorithm
    (folder / "config.toml").write_text(tomli_w.dumps({**config, "env_settings": {"frame_skip": 1_000_000_000}}))
    return folder


def policies(folder):
    return [check for check in verify(folder) if check.name in ("policy", "policies")]


def test_a_step_that_does_not_end_is_named_with_the_seconds(endless, monkeypatch):
    monkeypatch.setattr(comparison, "SECONDS", 3.0)
    monkeypatch.setattr(comparison, "STEPS_PER_SECOND", 1e9)
    begun = time.monotonic()
    checks = policies(endless)
    assert {check.outcome for check in checks} == {UNKNOWN}
    assert all("within 3 s" in check.text for check in checks)
    assert time.monotonic() - begun < 120


def test_a_second_run_in_a_step_that_does_not_end_is_ended(endless, monkeypatch):
    monkeypatch.setattr(comparison, "LONGEST", 5.0)
    begun = time.monotonic()
    check = run_again(endless, 0)
    assert check.outcome == UNKNOWN
    assert "within 5 s" in check.text
    assert time.monotonic() - begun < 120
    assert not multiprocessing.active_children()


def test_episodes_are_played_no_longer_than_they_were(whole, tmp_path):
    folder = tmp_path / "long"
    shutil.copytree(whole, folder)
    config = tomllib.loads((folder / "config.toml").read_text())
    more = {"max_episode_steps": 10**9, "terminate_when_unhealthy": False}
    (folder / "config.toml").write_text(tomli_w.dumps({**config, "env_settings": more}))
    assert all("not" in check.text or check.outcome != UNKNOWN for check in policies(folder))


def test_more_steps_than_are_played_are_not_begun(whole, monkeypatch):
    monkeypatch.setattr(comparison, "MOST_STEPS", 10)
    assert {(check.outcome, "more than the 10 " in check.text) for check in policies(whole)} == {(UNKNOWN, True)}


@pytest.mark.parametrize("words", [["verify"], ["play", "--no-video"]], ids=["verify", "play"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_command_in_a_step_that_does_not_end(endless, words, number):
    process = subprocess.Popen(
        [ERLBENCH, *words, endless],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=heed_interrupts,
    )
    try:
        wait_for(lambda: spins(process.pid), 120)
        process.send_signal(number)
        assert process.wait(60) == 130
        wait_for(lambda: not in_session(process.pid), 30)
    finally:
        for pid in in_session(process.pid):
            os.kill(pid, signal.SIGKILL)


def in_session(session: int) -> list[int]:
    """The processes of a session that are no zombies."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] not in "ZX":
            found.append(int(path.parent.name))
    return found


def spins(session: int) -> bool:
    """Whether another process than the first uses the processor, as a step that does not end does."""

    def used() -> dict[int, int]:
        pids = [pid for pid in in_session(session) if pid != session]
        return {pid: ticks(pid) for pid in pids}

    before = used()
    time.sleep(1.0)
    after = used()
    return len(after) > 0 and any(after[pid] - before[pid] > 10 and after[pid] > 300 for pid in after if pid in before)


def ticks(pid: int) -> int:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


def test_play_ends_with_its_budget(endless, monkeypatch):
    monkeypatch.setattr("erlbench.cli.play.LONGEST", 3.0)
    result = CliRunner().invoke(cli, ["play", str(endless), "--no-video"])
    assert result.exit_code == 2
    assert "budget of 3 s" in result.output


def test_verify_imports_no_module_that_the_algorithm_names(whole, tmp_path, monkeypatch):
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    config = tomllib.loads((folder / "config.toml").read_text())
    config["run"]["algo"] = "trap_of_verify:Trap"
    (folder / "config.toml").write_text(tomli_w.dumps(config))
    (tmp_path / "trap_of_verify.py").write_text("open('sprung', 'w').close()\n")
    with open(folder / "episodes.csv", "a") as file:
        file.write("1.0,5,1.0,es,0,1,1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    verify(folder)
    assert not (tmp_path / "sprung").exists()
    assert "trap_of_verify" not in sys.modules


@pytest.mark.slow
def test_large_files_take_a_few_times_their_size(whole, tmp_path):
    folder = tmp_path / "large"
    shutil.copytree(whole, folder)
    for name in ("episodes.csv", "tasks.csv", "train.csv"):
        *_, last = (folder / name).read_text().splitlines()
        with open(folder / name, "a") as file:
            file.write(f"{last}\n" * (30_000_000 // len(last)))
    code = (
        "import resource, sys; from pathlib import Path; from erlbench.verification import load_files\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss; load_files(Path(sys.argv[1]))\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=True)
    assert int(done.stdout) / 1024 < 3 * 90  # MiB
