"""`erlbench convert --to`: each format is read back by the tool that it is for, and holds the runs' own numbers."""

import numpy as np
import pandas as pd
import pytest

import erlbench
from erlbench.conversion import export_results
from erlbench.errors import UsageError
from tests.calls import refuse
from tests.reporting.make_runs import make_run


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


@pytest.mark.parametrize(
    ("target", "name"), [("sb3", "Hopper-v5/td3/seed-000/evaluations.npz"), ("sb3", "Hopper-v5"), ("csv", "cells.csv")]
)
def test_an_export_writes_nothing_behind_a_link_nor_below_a_file(tmp_path, target, name):
    make_run(tmp_path / "results", "Hopper-v5", "td3", 0, [1.0, 2.0])
    words = ("convert", tmp_path / "results", "--to", target, "--out", tmp_path / "export")
    (tmp_path / "export").touch()
    refuse(tmp_path / "export", *words)
    (tmp_path / "export").unlink()
    aim, link = tmp_path / "aim", tmp_path / "export" / name
    aim.mkdir() if name == "Hopper-v5" else aim.write_text("mine")
    link.parent.mkdir(parents=True)
    link.symlink_to(aim)
    refuse(link, *words)
    assert (list(aim.iterdir()) == []) if aim.is_dir() else (aim.read_text() == "mine")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    out = str(tmp_path_factory.mktemp("results"))
    more = {"total_timesteps": 600, "eval_freq": 200, "eval_episodes": 3, "final_episodes": 4, "processes": 0}
    return erlbench.run("cem", "Pendulum-v1", seeds=2, out=out, **more)


def test_tensorboard_reads_the_scores(results, tmp_path, monkeypatch):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    export_results(results, "tensorboard", tmp_path)
    read = EventAccumulator(str(tmp_path / "Pendulum-v1" / "cem" / "seed-000"))
    read.Reload()
    rows = results.evaluations[results.evaluations["seed"] == 0]
    events = read.Scalars("eval/mean_reward")
    assert [event.step for event in events] == rows["timesteps"].tolist()
    assert [event.value for event in events] == pytest.approx(rows["return_mean"].tolist(), rel=1e-6)
    assert len(read.Scalars("search/epsilon")) == (results.generations["seed"] == 0).sum()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"'erlbench\[exports\]'"):
        export_results(results, "tensorboard", tmp_path / "more")


def test_csv_files_are_read_back(results, tmp_path):
    export_results(results, "csv", tmp_path)
    frame = pd.read_csv(tmp_path / "evaluations.csv")
    assert frame["return_mean"].tolist() == results.evaluations["return_mean"].tolist()
    returns = [tuple(map(float, cell.split())) for cell in frame["returns"]]
    assert returns == results.evaluations["returns"].tolist()
    for name in ("cells", "episodes", "tasks", "generations"):
        assert len(pd.read_csv(tmp_path / f"{name}.csv")) == len(getattr(results, name))
