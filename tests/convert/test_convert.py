"""`erlbench convert`: which way it goes, what it refuses, and what stays on the way out and back."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import erlbench
from tests.calls import refuse, succeed
from tests.reporting.make_runs import make_run

DATA = Path(__file__).parents[1] / "importing/data"


def test_the_page_s_line_writes_evaluations_that_come_back(tmp_path):
    """docs/convert.md has it for the files of Stable-Baselines3."""
    env, small = "tests.defects.environments:Always-v0", {"population": 4, "elites": 2, "hidden": 8}
    more = {"total_timesteps": 200, "eval_freq": 100, "eval_episodes": 3, "processes": 0, "set": small}
    before = erlbench.run("cem", env, final_episodes=3, out=tmp_path / "a", **more).evaluations
    arrays = {"results": [*before["returns"]], "ep_lengths": [*before["lengths"]]}
    np.savez(tmp_path / "evaluations.npz", timesteps=before["timesteps"], **arrays)
    names = ("--algo", "cem", "--seed", 0, "--env", env, "--origin", "us")
    succeed("convert", tmp_path / "evaluations.npz", *names, "--out", tmp_path / "c")
    columns = ["timesteps", "return_mean", "returns", "lengths"]
    after = erlbench.load_results(tmp_path / "c")
    pd.testing.assert_frame_equal(before[columns], after.evaluations[columns], check_dtype=False, check_exact=True)
    assert after.cells["name"].tolist() == ["sb3-cem"]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("mine",), "--to"),
        (("mine", "--to", "bundle"), "--out FILE.zip"),
        (("mine", "--to", "tensorboard", "--origin", "me"), "--origin"),
        (("x.zip", "--out", "mine"), "--to"),
        (("mine", "--from", "sb3", "--out", "y.zip"), "not both"),
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
