"""`erlbench convert --to tensorboard`: TensorBoard reads the runs' own numbers."""

import pytest

import erlbench
from erlbench.conversion import export_events, import_runs
from erlbench.errors import UsageError
from tests.calls import call, refuse, succeed
from tests.files import contents
from tests.importing.files import read_events, write_evaluations
from tests.reporting.make_runs import make_run


@pytest.mark.parametrize("name", ["Hopper-v5/td3/seed-000/events.out.tfevents.1", "Hopper-v5"])
def test_an_export_writes_nothing_behind_a_link_nor_below_a_file(tmp_path, name):
    make_run(tmp_path / "results", "Hopper-v5", "td3", 0, [1.0, 2.0])
    words = ("convert", tmp_path / "results", "--to", "tensorboard", "--out", tmp_path / "export")
    (tmp_path / "export").touch()
    refuse(tmp_path / "export", *words)
    (tmp_path / "export").unlink()
    aim, link = tmp_path / "aim", tmp_path / "export" / name
    aim.mkdir()
    (aim / "file").write_text("mine")
    link.parent.mkdir(parents=True)
    link.symlink_to(aim if name == "Hopper-v5" else aim / "file")
    refuse(link, *words)
    assert contents(aim) == {"file": b"mine"}


def test_tensorboard_reads_the_scores(tmp_path, monkeypatch):
    runs, out = tmp_path / "results", tmp_path / "export"
    more = {"total_timesteps": 600, "eval_freq": 200, "eval_episodes": 3, "final_episodes": 4, "processes": 0}
    results = erlbench.run("cem", "Pendulum-v1", seeds=2, out=runs, **more)
    export_events(results, out)
    read = read_events(out / "Pendulum-v1/cem/seed-000")
    rows = results.evaluations[results.evaluations["seed"] == 0]
    events = read.Scalars("eval/mean_reward")
    assert [event.step for event in events] == rows["timesteps"].tolist()
    assert [event.value for event in events] == pytest.approx(rows["return_mean"].tolist(), rel=1e-6)
    assert len(read.Scalars("search/epsilon")) == (results.generations["seed"] == 0).sum()
    refuse("event files already", "convert", runs, "--to", "tensorboard", "--out", out)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"'erlbench\[exports\]'"):
        export_events(results, tmp_path / "more")


def test_curves_without_times_are_exported(tmp_path):
    path = write_evaluations(tmp_path / "evaluations.npz", (100, 200))
    import_runs([path], tmp_path, origin="me", env="A-v1", algo="x", seed=0)
    (place,) = export_events(erlbench.load_results(tmp_path), tmp_path / "export")
    read = read_events(place)
    assert [(event.step, event.value) for event in read.Scalars("eval/mean_reward")] == [(100, 0.5), (200, 2.5)]
    assert "time/train_time_s" not in read.Tags()["scalars"]


def test_a_run_that_cannot_be_read_is_left_out_and_no_other_has_its_curves(tmp_path):
    for seed in (0, 1):
        make_run(tmp_path / "results", "Hopper-v5", "td3", seed, [1.0 + seed, 2.0 + seed])
    (tmp_path / "results/Hopper-v5/td3/seed-000/config.toml").write_bytes(b"")
    words = ("convert", tmp_path / "results", "--to", "tensorboard", "--out", tmp_path / "export")
    assert "1 folder" in succeed(*words)
    (place,) = (path.parent for path in (tmp_path / "export").rglob("*tfevents*"))
    values = [event.value for event in read_events(place).Scalars("eval/mean_reward")]
    assert place.name == "seed-001"
    assert values == [2.0, 3.0]
    (tmp_path / "results/Hopper-v5/td3/seed-001/config.toml").write_bytes(b"")
    result = call(*words)
    assert result.exit_code == 2
    assert "none of the runs" in result.stderr
