"""`erlbench show`: one run, several, and what is no run."""

import shutil

import pytest

from tests.calls import refuse, succeed
from tests.files import edit_json
from tests.reporting.make_runs import make_run


@pytest.fixture
def run(tmp_path):
    shared = {"cells_at_once": 2, "exclusive": False}
    more = {"steps": (0, 5000, 10_000), "total": 10**6, "status": "running", "starts": [shared]}
    run = make_run(tmp_path, "Hopper-v5", "td3", 0, [10.5, 2000, 3000.125], **more)
    edit_json(run / "status.json", training_return=12.345)
    with open(run / "eval.csv", "a") as file:
        file.write("3,150")  # cut off
    return run


def test_show_a_run(run):
    lines = [" ".join(line.split()) for line in succeed("show", run, "--last", 2).splitlines()]
    assert {"env Hopper-v5", "initial_variance 0.001", "steps 10,000 of 1,000,000"} <= {*lines}
    assert "status killed" in lines  # it says running, but nobody holds it
    assert "train time 2 min on cores that other cells used, too" in lines
    assert any(line.startswith("training return 12.3") for line in lines)
    assert lines[-2:] == ["5,000 4 1 50 2,000 1", "10,000 6 2 100 3,000.12 1"]  # the cut line is left out
    (run / "meta.json").unlink()
    assert "on cores" not in succeed("show", run)


def test_show_the_runs_of_several_folders(run, tmp_path):
    other = tmp_path / "other/cem/seed-001"
    shutil.copytree(run, other)
    (other / "status.json").write_text('{"status": "done", "timesteps": 5, "total_timesteps": 5, "return_mean": null}')
    lines = [line.split() for line in succeed("show", tmp_path / "Hopper-v5", tmp_path / "other").splitlines()]
    assert lines[0] == ["run", "status", "steps", "training", "last", "score", "message"]
    assert lines[1][:7] == [str(run), "killed", "10,000", "of", "1,000,000", "12.35", "3,000.12"]
    assert lines[2][:2] == [str(other), "done"]
    refuse(tmp_path / "none", "show", tmp_path, tmp_path / "none")


def test_what_is_no_run_or_a_damaged_one_is_named(run):
    for path in (run / "policies/x", run / "config.toml"):
        for command in ("show", "verify"):
            refuse(path, command, path)
    (run / "status.json").write_text("{")
    assert "status.json is missing or damaged" in succeed("show", run)
    for name in ("status.json", "meta.json", "eval.csv"):
        (run / name).unlink()
    assert "No evaluation yet." in succeed("show", run)
    (run / "config.toml").write_text("= 3")
    refuse(run / "config.toml", "show", run)
