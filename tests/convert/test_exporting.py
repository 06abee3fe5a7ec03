"""`erlbench convert --to`: each format is read back by the tool that it is for, and holds the runs' own numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import erlbench
from erlbench.cli import cli
from erlbench.conversion import export_results
from erlbench.errors import UsageError
from tests.reporting.make_runs import make_run

ENVS, NAMES = ("InvertedPendulum-v5", "Pendulum-v1"), ("cem", "openai-es")


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
        result = CliRunner().invoke(cli, ["convert", str(folder), "--to", target, "--out", str(tmp_path / target)])
        assert result.exit_code == 0, result.stderr
        return tmp_path / target

    return exported


def first(results, frame):
    """The rows of CEM on Pendulum with seed 0."""
    rows = getattr(results, frame)
    return rows[(rows["env"] == "Pendulum-v1") & (rows["name"] == "cem") & (rows["seed"] == 0)]


FOLDER = Path("Pendulum-v1") / "cem" / "seed-000"


def test_tensorboard_reads_the_scores(results, export):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    read = EventAccumulator(str(export("tensorboard") / FOLDER))
    read.Reload()
    rows = first(results, "evaluations")
    events = read.Scalars("eval/mean_reward")
    assert [event.step for event in events] == rows["timesteps"].tolist()
    assert [event.value for event in events] == pytest.approx(rows["return_mean"].tolist(), rel=1e-6)
    assert len(read.Scalars("search/epsilon")) == len(first(results, "generations"))


def test_csv_files_are_read_back(results, export):
    import pandas as pd

    folder = export("csv")
    frame = pd.read_csv(folder / "evaluations.csv")
    assert frame["return_mean"].tolist() == results.evaluations["return_mean"].tolist()
    returns = [tuple(map(float, cell.split())) for cell in frame["returns"]]
    assert returns == results.evaluations["returns"].tolist()
    for name in ("cells", "episodes", "tasks", "generations"):
        assert len(pd.read_csv(folder / f"{name}.csv")) == len(getattr(results, name))


def test_a_missing_package_is_named(results, tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    result = CliRunner().invoke(cli, ["convert", str(results.runs[0]), "--to", "tensorboard", "--out", str(tmp_path)])
    assert result.exit_code == 2
    assert "pip install 'erlbench[exports]'" in result.stderr


@pytest.mark.parametrize("final", [2, 5, 7])
def test_the_final_evaluation_is_exported_whole(tmp_path, final):
    more = {"total_timesteps": 300, "eval_freq": 100, "eval_episodes": 5, "processes": 0}
    results = erlbench.run("cem", "function:sphere", out=str(tmp_path / "results"), final_episodes=final, **more)
    export_results(results, "sb3", tmp_path / "export")
    (folder,) = (path.parent for path in tmp_path.rglob("evaluations.npz"))
    whole, last = results.evaluations, results.evaluations.iloc[-1]
    saved = np.load(folder / "evaluations.npz")
    assert saved["results"].tolist() == [list(returns[:5]) for returns in whole["returns"] if len(returns) >= 5]
    assert (folder / "final_evaluation.npz").exists() == (final != 5)
    if final != 5:
        saved = np.load(folder / "final_evaluation.npz")
        assert saved["timesteps"].tolist() == [last["timesteps"]]
        assert saved["results"].tolist() == [list(last["returns"])]
        assert saved["ep_lengths"].tolist() == [list(last["lengths"])]


def test_evaluations_without_episodes(tmp_path):
    """Other people's results may have means only."""
    header = "timesteps,train_time_s,return_mean,return_std,returns,lengths"
    for name, episodes in (("cem", "5 4,1 1"), ("td3", ",")):
        folder = make_run(tmp_path, "Foo-v5", name, 0, [0])
        (folder / "eval.csv").write_text(f"{header}\n0,0.0,3.5,0.5,,\n20,0.1,4.5,0.5,{episodes}\n")
    (path,) = export_results(erlbench.load_results(tmp_path), "sb3", tmp_path / "export")
    assert np.load(path)["results"].tolist() == [[5, 4]]
    assert "successes" not in np.load(path)
    with pytest.raises(UsageError, match="--to sb3"):
        export_results(erlbench.load_results(tmp_path / "Foo-v5" / "td3"), "sb3", tmp_path / "export")


def made(folder: Path, score: float, *seeds: int) -> Path:
    """Runs of one cell after another, each with an episode."""
    for seed in seeds:
        run = make_run(folder, "Foo-v5", "cem", seed, [0, score])
        with open(run / "episodes.csv", "a") as file:
            file.write(f"{score},20,0.1,es,0,1,20,,,\n")
    return folder


@pytest.mark.parametrize("target", ["sb3", "csv"])
def test_a_second_export_replaces_the_files_of_the_first(tmp_path, target):
    first, second = (erlbench.load_results(made(tmp_path / name, score, 0)) for name, score in (("a", 10), ("b", 20)))
    for results, out in ((first, "out"), (second, "out"), (second, "expected")):
        assert export_results(results, target, tmp_path / out)
    found, expected = (
        {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for folder in (tmp_path / "out", tmp_path / "expected")
    )
    assert found == expected


@pytest.mark.parametrize("place", ["", "Pendulum-v1"])
def test_a_file_in_the_place_of_a_folder_is_a_mistake_of_the_user(tmp_path, place):
    make_run(tmp_path / "runs", "Pendulum-v1", "cem", 0, [0, 10])
    out = tmp_path / "out"
    if place:
        out.mkdir()
    (out / place).touch()
    words = ["convert", str(tmp_path / "runs"), "--to", "sb3", "--out", str(out)]
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"erlbench: {out} cannot be written: ")
    assert result.stderr.endswith("; choose another folder by --out\n")


@pytest.mark.parametrize(
    ("target", "name"), [("sb3", "Hopper-v5/td3/seed-000/evaluations.npz"), ("sb3", "Hopper-v5"), ("csv", "cells.csv")]
)
def test_an_export_writes_nothing_behind_a_link(tmp_path, target, name):
    make_run(tmp_path / "results", "Hopper-v5", "td3", 0, [1.0, 2.0])
    aim = tmp_path / "aim"
    aim.mkdir() if name == "Hopper-v5" else aim.write_text("mine")
    link = tmp_path / "export" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(aim)
    words = ["convert", tmp_path / "results", "--to", target, "--out", tmp_path / "export"]
    result = CliRunner().invoke(cli, list(map(str, words)))
    assert result.exit_code == 2
    assert str(link) in "".join(result.output.split("\n"))
    assert (list(aim.iterdir()) == []) if aim.is_dir() else (aim.read_text() == "mine")
