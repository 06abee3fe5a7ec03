"""`erlbench show`: one run, several, and what is no run."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from erlbench.cli import cli
from erlbench.running.checkpoint import save_checkpoint

CONFIG = """\
[run]
env = "Hopper-v5"
algo = "td3"
seed = 0

[settings]
hidden = [400, 300]
"""
EVAL = """\
evaluation,timesteps,return_mean,return_std,train_time_s
0,0,10.5,1.0,0.1
1,5000,2000,20.25,50
2,10000,3000.125,20.25,10
3,150"""


def invoke(*words: object):
    return CliRunner().invoke(cli, [str(word) for word in words])


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "Hopper-v5" / "td3" / "seed-000"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(CONFIG)
    status = {
        "status": "running",
        "timesteps": 10500,
        "total_timesteps": 1000000,
        "train_time_s": 200.0,
        "return_mean": 3000.125,
    }
    (folder / "status.json").write_text(json.dumps(status))
    (folder / "meta.json").write_text('{"cpu": "a CPU", "cores": 2}')
    (folder / "eval.csv").write_text(EVAL)
    return folder


def test_show_a_run(run):
    result = invoke("show", run, "--last", 2)
    assert result.exit_code == 0
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert "env Hopper-v5" in lines
    assert "hidden 400-300" in lines
    assert "status killed" in lines  # it says running, but nobody holds it
    assert "steps 10,500 of 1,000,000" in lines
    assert "train time 3 min" in lines
    assert lines[-2:] == ["5,000 50 2,000 20.25", "10,000 10 3,000.12 20.25"]  # the cut line is left out


def test_show_tells_how_a_killed_run_goes_on(run):
    assert "--force" in invoke("show", run).stdout  # it has rows and no checkpoint
    (run / "eval.csv").unlink()
    assert "starts it again from 0" in invoke("show", run).stdout
    for number, steps in enumerate((0, 10_000)):
        save_checkpoint(run / "checkpoint", {"algorithm": {"counters": {"timesteps": steps}}}, {})
        text = "continues it from 10,000 steps" if number else "starts it again from 0"
        assert text in invoke("show", run).stdout
    for checkpoint in (run / "checkpoint").iterdir():
        (checkpoint / "state.json").write_text("{")
    assert "--force" in invoke("show", run).stdout


def test_show_a_run_that_has_just_begun(run):
    for name in ("status.json", "meta.json", "eval.csv"):
        (run / name).unlink()
    result = invoke("show", run)
    assert result.exit_code == 0
    assert "No evaluation yet." in result.stdout


def test_show_damaged_files(run):
    (run / "status.json").write_text("{")
    assert invoke("show", run).exit_code == 0
    (run / "config.toml").write_text("= 3")
    result = invoke("show", run)
    assert result.exit_code == 2
    assert str(run / "config.toml") in result.stderr


def test_show_all_runs_of_a_folder(run, tmp_path):
    result = invoke("show", tmp_path)
    assert result.exit_code == 0
    assert "Hopper-v5/td3/seed-000  killed  10,500 of 1,000,000  3,000.12" in result.stdout


def test_show_the_runs_of_several_folders(run, tmp_path):
    other = tmp_path / "other" / "cem" / "seed-001"
    shutil.copytree(run, other)
    (other / "status.json").write_text('{"status": "done", "timesteps": 5, "total_timesteps": 5, "return_mean": 7.0}')
    result = invoke("show", tmp_path / "Hopper-v5", tmp_path / "other")
    assert result.exit_code == 0
    lines = [line.split() for line in result.stdout.splitlines()]
    assert [line[:2] for line in lines[1:3]] == [[str(run), "killed"], [str(other), "done"]]
    assert "1 killed, 1 done" in result.stdout
    missing = invoke("show", tmp_path, tmp_path / "none")
    assert (missing.exit_code, str(tmp_path / "none") in missing.stderr) == (2, True)


SQUEUE = """#!/bin/sh
echo "$@" >> {calls}
[ $(wc -l < {calls}) -eq 1 ] && printf 'RUNNING\nPENDING\nPENDING\n'
exit 0
"""


def test_show_counts_the_jobs_of_slurm(run, tmp_path, monkeypatch):
    (tmp_path / ".jobs").mkdir()
    for job in ("17_0", "17_1", "17_2"):
        (tmp_path / ".jobs" / f"{job}_submitted.pkl").touch()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "squeue").write_text(SQUEUE.format(calls=tmp_path / "calls"))
    (tmp_path / "bin" / "squeue").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    result = invoke("show", tmp_path)
    assert result.exit_code == 0
    assert {"1 running", "2 pending"} <= {*re.findall(r"\d \w+ing", result.stdout)}
    asked = set(re.search("--jobs=(.*)", (tmp_path / "calls").read_text())[1].split(","))
    assert asked == {"17_0", "17_1", "17_2"}


def test_show_nothing(tmp_path):
    result = invoke("show", tmp_path / "none")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"erlbench: {tmp_path / 'none'} does not exist")
    empty = invoke("show", tmp_path)
    assert (empty.exit_code, str(tmp_path) in empty.stderr) == (2, True)


@pytest.mark.parametrize("command", ["show", "verify"])
def test_a_file_is_no_run(command, run):
    result = invoke(command, run / "config.toml")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"erlbench: {run / 'config.toml'} is a file")


def test_a_time_on_shared_cores_is_marked(run, tmp_path):
    assert "on cores" not in invoke("show", run).stdout
    (run / "meta.json").write_text(json.dumps({"starts": [{"cells_at_once": 2, "exclusive": False}]}))
    (line,) = [line for line in invoke("show", run).stdout.splitlines() if line.startswith("train time")]
    assert line.endswith(" on cores that other cells used, too")


def test_runs_that_train_are_shown_with_their_training_return(run, tmp_path):
    assert "training" not in invoke("show", tmp_path).stdout
    state = json.loads((run / "status.json").read_text())
    (run / "status.json").write_text(json.dumps({**state, "training_return": 12.345}))
    lines = [line.split() for line in invoke("show", tmp_path).stdout.splitlines()]
    assert lines[0] == ["run", "status", "steps", "training", "last", "score", "message"]
    assert "12.35" in lines[1]
    assert "training return" in invoke("show", run).stdout
