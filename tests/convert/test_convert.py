"""`erlbench convert`: which way it goes, what it refuses, and what stays on the way out and back."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner, Result

import erlbench
from erlbench.cli import cli
from tests.reporting.make_runs import make_run

DATA = Path(__file__).parents[1] / "importing/data"
RUN = {
    "seeds": 2, "total_timesteps": 200, "eval_freq": 100, "eval_episodes": 3, "processes": 0,
    "set": {"population": 4, "elites": 2, "hidden": 8},
}  # fmt: skip
ENVIRONMENT = "tests.defects.environments:Always-v0"


def call(*words: object) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words])


def read_rows(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What returns, steps and successes say, of evaluations and of training episodes."""
    results = erlbench.load_results(folder)
    evaluations = results.evaluations[["timesteps", "return_mean", "returns", "lengths", "success"]]
    return evaluations, results.episodes[["r", "l", "t", "success"]].astype(float)


@pytest.mark.parametrize("final", [2, 3, 5])
def test_a_run_comes_back_with_its_returns_steps_and_successes(tmp_path, final):
    erlbench.run("cem", ENVIRONMENT, final_episodes=final, out=tmp_path / "a", **RUN)
    assert call("convert", tmp_path / "a", "--to", "sb3", "--out", tmp_path / "b").exit_code == 0
    back = ("--layout", "{env}/{algo}/seed-{seed}", "--env", ENVIRONMENT, "--origin", "us", "--out", tmp_path / "c")
    done = call("convert", tmp_path / "b", "--from", "sb3", *back)
    assert done.exit_code == 0, done.output
    for before, after in zip(read_rows(tmp_path / "a"), read_rows(tmp_path / "c"), strict=True):
        pd.testing.assert_frame_equal(before, after, check_dtype=False, check_exact=True)
    assert erlbench.load_results(tmp_path / "c").cells["name"].unique().tolist() == ["sb3-cem"]


def test_the_way_is_told_by_what_is_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_run(tmp_path / "mine", "Foo-v5", "cem", 0, [0, 10])
    shutil.copytree(DATA / "sb3", tmp_path / "logs")
    assert call("convert", "mine", "--out", "x.zip").exit_code == 0
    assert call("convert", "x.zip", "--out", "again").exit_code == 0
    assert (tmp_path / "again/Foo-v5/cem/seed-000/eval.csv").is_file()
    assert call("convert", "logs", "--origin", "Jane", "--layout", "{algo}/{env}_{seed}").exit_code == 0
    assert len(erlbench.load_results("results").runs) == 2
    unclear = call("convert", "mine")
    assert (unclear.exit_code, unclear.stderr.count("\n")) == (2, 1)
    assert "--to" in unclear.stderr


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("mine", "--to", "bundle"), "--out FILE.zip"),
        (("mine", "--to", "bundle", "--out", "x.csv"), ".zip"),
        (("mine", "--from", "bundle"), ".zip"),
        (("mine", "--from", "sb3", "--to", "sb3"), "--from or --to"),
        (("mine", "--to", "sb3", "--origin", "me"), "--origin"),
        (("x.zip", "--env-set", "a=1"), "--env-set"),
        (("x.zip", "--out", "mine"), "mine is there already"),
        (("mine", "--to", "wandb"), "tensorboard"),
        (("logs", "--from", "sb3"), "--origin"),
        (("logs", "--from", "cleanrl", "--origin", "me", "--layout", "{algo}/{env}_{seed}"), "--from cleanrl"),
        (("logs", "--origin", "a\nb"), "--origin"),
        (("gone", "--origin", "me"), "gone does not exist"),
    ],
)
def test_a_mistake_is_one_line(tmp_path, monkeypatch, words, named):
    monkeypatch.chdir(tmp_path)
    make_run(tmp_path / "mine", "Foo-v5", "cem", 0, [0, 10])
    shutil.copytree(DATA / "sb3", tmp_path / "logs")
    assert call("convert", "mine", "--out", "x.zip").exit_code == 0
    before = sorted(tmp_path.rglob("*"))
    done = call("convert", *words)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1), done.output
    assert named in done.stderr
    assert sorted(tmp_path.rglob("*")) == before
