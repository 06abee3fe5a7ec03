"""`erlbench convert`: which way it goes, what it refuses, and what stays on the way out and back."""

import shutil
from pathlib import Path

import pandas as pd
import pytest

import erlbench
from tests.calls import refuse, succeed
from tests.reporting.make_runs import make_run

DATA = Path(__file__).parents[1] / "importing/data"


def read_rows(folder):
    """What returns, steps and successes say, of evaluations and of training episodes."""
    results = erlbench.load_results(folder)
    evaluations = results.evaluations[["timesteps", "return_mean", "returns", "lengths", "success"]]
    return evaluations, results.episodes[["r", "l", "t", "success"]].astype(float)


@pytest.mark.parametrize("final", [3, 5])
def test_a_run_comes_back_with_its_returns_steps_and_successes(tmp_path, final):
    env, small = "tests.defects.environments:Always-v0", {"population": 4, "elites": 2, "hidden": 8}
    more = {"total_timesteps": 200, "eval_freq": 100, "eval_episodes": 3, "processes": 0, "set": small}
    erlbench.run("cem", env, seeds=2, final_episodes=final, out=tmp_path / "a", **more)
    succeed("convert", tmp_path / "a", "--to", "sb3", "--out", tmp_path / "b")
    names = ("--layout", "{env}/{algo}/seed-{seed}", "--env", env, "--origin", "us")
    succeed("convert", tmp_path / "b", *names, "--out", tmp_path / "c")
    for before, after in zip(read_rows(tmp_path / "a"), read_rows(tmp_path / "c"), strict=True):
        pd.testing.assert_frame_equal(before, after, check_dtype=False, check_exact=True)
    assert erlbench.load_results(tmp_path / "c").cells["name"].unique().tolist() == ["sb3-cem"]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("mine",), "--to"),
        (("mine", "--to", "bundle"), "--out FILE.zip"),
        (("mine", "--from", "bundle"), ".zip"),
        (("mine", "--to", "sb3", "--origin", "me"), "--origin"),
        (("x.zip", "--env-set", "a=1"), "--env-set"),
        (("x.zip", "--out", "mine"), "mine is there already"),
        (("mine", "--to", "wandb"), "tensorboard"),
        (("logs", "--from", "sb3"), "--origin"),
        (("logs", "--origin", "a\nb"), "--origin"),
        (("gone", "--origin", "me"), "gone does not exist"),
    ],
)
def test_a_mistake_is_one_line(tmp_path, monkeypatch, words, named):
    monkeypatch.chdir(tmp_path)
    make_run(tmp_path / "mine", "Foo-v5", "cem", 0, [0, 10])
    shutil.copytree(DATA / "sb3", tmp_path / "logs")
    succeed("convert", "mine", "--out", "x.zip")
    before = sorted(tmp_path.rglob("*"))
    refuse(named, "convert", *words)
    assert sorted(tmp_path.rglob("*")) == before
