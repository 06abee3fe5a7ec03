"""`erlbench show`: one run, several, and what is no run."""

import json
import shutil

import pytest

from tests.calls import refuse, succeed

CONFIG = '[run]\nenv = "Hopper-v5"\nalgo = "td3"\nseed = 0\n[settings]\nhidden = [400, 300]\n'
STATUS = {
    "status": "running", "timesteps": 10500, "total_timesteps": 1000000, "train_time_s": 200.0,
    "return_mean": 3000.125, "training_return": 12.345,
}  # fmt: skip
EVAL = """\
evaluation,timesteps,return_mean,return_std,train_time_s
0,0,10.5,1.0,0.1
1,5000,2000,20.25,50
2,10000,3000.125,20.25,10
3,150"""


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "Hopper-v5" / "td3" / "seed-000"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(CONFIG)
    (folder / "status.json").write_text(json.dumps(STATUS))
    (folder / "meta.json").write_text(json.dumps({"starts": [{"cells_at_once": 2, "exclusive": False}]}))
    (folder / "eval.csv").write_text(EVAL)
    return folder


def test_show_a_run(run):
    lines = [" ".join(line.split()) for line in succeed("show", run, "--last", 2).splitlines()]
    assert {"env Hopper-v5", "hidden 400-300", "steps 10,500 of 1,000,000"} <= {*lines}
    assert "status killed" in lines  # it says running, but nobody holds it
    assert "train time 3 min on cores that other cells used, too" in lines
    assert any(line.startswith("training return 12.3") for line in lines)
    assert lines[-2:] == ["5,000 50 2,000 20.25", "10,000 10 3,000.12 20.25"]  # the cut line is left out
    (run / "meta.json").unlink()
    assert "on cores" not in succeed("show", run)


def test_show_the_runs_of_several_folders(run, tmp_path):
    other = tmp_path / "other" / "cem" / "seed-001"
    shutil.copytree(run, other)
    (other / "status.json").write_text('{"status": "done", "timesteps": 5, "total_timesteps": 5, "return_mean": 7.0}')
    lines = [line.split() for line in succeed("show", tmp_path / "Hopper-v5", tmp_path / "other").splitlines()]
    assert lines[0] == ["run", "status", "steps", "training", "last", "score", "message"]
    assert lines[1][:7] == [str(run), "killed", "10,500", "of", "1,000,000", "12.35", "3,000.12"]
    assert lines[2][:2] == [str(other), "done"]
    refuse(tmp_path / "none", "show", tmp_path, tmp_path / "none")


def test_what_is_no_run_or_a_damaged_one_is_named(run):
    for path in (run / "policies" / "x", run / "config.toml"):
        for command in ("show", "verify"):
            refuse(path, command, path)
    (run / "status.json").write_text("{")
    succeed("show", run)
    for name in ("status.json", "meta.json", "eval.csv"):
        (run / name).unlink()
    assert "No evaluation yet." in succeed("show", run)
    (run / "config.toml").write_text("= 3")
    refuse(run / "config.toml", "show", run)
