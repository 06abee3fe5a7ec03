"""`erlbench export`: each format is read back by the tool that it is for, and holds the runs' own numbers."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import erlbench
from erlbench.cli import cli
from erlbench.errors import UsageError
from erlbench.exporting import TARGETS, sb3

ENVS, NAMES, SEEDS = ("InvertedPendulum-v5", "Pendulum-v1"), ("cem", "openai-es"), (0, 1)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Two algorithms on two environments with two seeds each."""
    out = str(tmp_path_factory.mktemp("results"))
    return erlbench.run(
        NAMES, ENVS, seeds=2, total_timesteps=600, eval_freq=200, eval_episodes=3, final_episodes=4, processes=0,
        out=out,
    )  # fmt: skip


@pytest.fixture
def export(results, tmp_path):
    def exported(target: str) -> Path:
        folder = Path(results.runs[0]).parents[2]
        result = CliRunner().invoke(cli, ["export", str(folder), "--to", target, "--out", str(tmp_path / target)])
        assert result.exit_code == 0, result.stderr
        assert TARGETS[target] in result.stdout
        return tmp_path / target

    return exported


def first(results, frame):
    """The rows of CEM on Pendulum with seed 0."""
    rows = getattr(results, frame)
    return rows[(rows["env"] == "Pendulum-v1") & (rows["name"] == "cem") & (rows["seed"] == 0)]


FOLDER = Path("Pendulum-v1") / "cem" / "seed-000"


def test_tensorboard(results, export):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    read = EventAccumulator(str(export("tensorboard") / FOLDER))
    read.Reload()
    rows = first(results, "evaluations")
    events = read.Scalars("eval/mean_reward")
    assert [event.step for event in events] == rows["timesteps"].tolist()
    assert [event.value for event in events] == pytest.approx(rows["return_mean"].tolist(), rel=1e-6)
    assert len(read.Scalars("search/epsilon")) == len(first(results, "generations"))


def wandb_records(log: Path):
    """The messages of an offline run: LevelDB's log format after 7 bytes, and W&B's own protocol buffers."""
    from wandb.proto.wandb_internal_pb2 import Record

    data, place, parts = log.read_bytes(), 7, b""
    while place + 7 <= len(data):
        if (left := 32768 - place % 32768) < 7:
            place += left
            continue
        _, length, kind = struct.unpack_from("<IHB", data, place)
        parts += data[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # a whole record, or the last part of one
            record = Record()
            record.ParseFromString(parts)
            parts = b""
            yield record


def test_wandb(results, export):
    """`wandb sync` finds all runs, and their logs hold the scores."""
    folder = export("wandb")
    words = [sys.executable, "-m", "wandb", "sync", "--dry-run", str(folder / "wandb")]
    listed = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert "Would sync 8 run(s)" in listed.stdout + listed.stderr
    found = {}
    for log in folder.glob("wandb/offline-run-*/*.wandb"):
        name, scores = "", []
        for record in wandb_records(log):
            name = record.run.display_name or name
            values = {item.key or item.nested_key[0]: json.loads(item.value_json) for item in record.history.item}
            if "eval/mean_reward" in values:
                scores.append((values["timesteps"], values["eval/mean_reward"]))
        found[name] = scores
    rows = first(results, "evaluations")
    assert found["cem on Pendulum-v1, seed 0"] == list(zip(rows["timesteps"], rows["return_mean"]))


def test_rliable(results, export):
    from rliable import metrics

    file = np.load(export("rliable") / "scores.npz")
    scores = {name: file[name] for name in NAMES}
    assert file["environments"].tolist() == list(ENVS)
    cells = results.cells.set_index(["name", "env", "seed"])["score"]
    expected = [[[cells[name, env, seed] for env in ENVS] for seed in SEEDS] for name in NAMES]
    assert np.array_equal(list(scores.values()), expected)
    assert metrics.aggregate_mean(scores["cem"]) == pytest.approx(np.mean(expected[0]))


def test_rliable_takes_full_matrices_only(results, tmp_path):
    folders = [str(path) for path in results.runs[:-1]]
    result = CliRunner().invoke(cli, ["export", *folders, "--to", "rliable", "--out", str(tmp_path / "out")])
    assert result.exit_code == 2
    assert "missing for openai-es, seed 1" in result.stderr


def test_stable_baselines_evaluations(results, export):
    """As rl-baselines3-zoo's scripts read it: timesteps, and a row of returns an evaluation."""
    file = np.load(export("sb3") / FOLDER / "evaluations.npz")
    rows = first(results, "evaluations")
    assert file["timesteps"].tolist() == rows["timesteps"].tolist()
    assert file["results"].shape == file["ep_lengths"].shape == (len(rows), 3)
    assert file["results"][:-1].mean(axis=1) == pytest.approx(rows["return_mean"].to_numpy()[:-1])


def test_monitor(results, export):
    from stable_baselines3.common.monitor import load_results
    from stable_baselines3.common.results_plotter import ts2xy

    frame = load_results(str(export("monitor") / FOLDER))
    episodes = first(results, "episodes")
    assert frame["r"].tolist() == pytest.approx(episodes["r"].tolist())
    steps, returns = ts2xy(frame, "timesteps")
    assert steps[-1] == first(results, "cells")["timesteps"].iloc[0]
    assert len(returns) == len(episodes)


def test_parquet(results, export):
    import pandas as pd

    folder = export("parquet")
    frame = pd.read_parquet(folder / "evaluations.parquet")
    assert frame["return_mean"].tolist() == results.evaluations["return_mean"].tolist()
    assert list(frame["returns"].iloc[0]) == list(results.evaluations["returns"].iloc[0])
    assert len(pd.read_parquet(folder / "tasks.parquet")) == len(results.tasks)


def test_a_missing_package_is_named(results, tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    result = CliRunner().invoke(cli, ["export", str(results.runs[0]), "--to", "parquet", "--out", str(tmp_path)])
    assert result.exit_code == 2
    assert "pip install 'erlbench[exports]'" in result.stderr


def test_a_final_evaluation_with_fewer_episodes(tmp_path):
    more = {"total_timesteps": 300, "eval_freq": 100, "eval_episodes": 5, "final_episodes": 2, "processes": 0}
    results = erlbench.run("cem", "function:sphere", out=str(tmp_path / "results"), **more)
    (path,) = sb3.export(results, tmp_path / "export")
    assert np.load(path)["results"].shape[1] == 2


def test_two_runs_of_one_cell_do_not_overwrite_each_other(tmp_path):
    for budget in (200, 300):
        erlbench.run("cem", "function:sphere", total_timesteps=budget, processes=0, out=str(tmp_path / str(budget)))
    with pytest.raises(UsageError, match="are both cem on function:sphere, seed 0"):
        sb3.export(erlbench.load_results(tmp_path), tmp_path / "export")
