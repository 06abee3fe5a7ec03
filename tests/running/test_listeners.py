"""Who is told each row when it is written: listeners, which may raise, and TensorBoard."""

import itertools
import time
from dataclasses import replace

import pytest
from tensorboard.summary.writer import event_file_writer

from erlbench.errors import UsageError
from erlbench.records.read import read_rows
from erlbench.records.schema import COUNTED, EpisodeRow, EvaluationRow, GenerationRow, TaskRow
from erlbench.records.training import TrainingReturns
from erlbench.running import live_curves
from erlbench.running.live_curves import LiveCurves
from tests.importing.files import read_events
from tests.runs import cell_runner, check_same_as_whole, complete, interrupt, listen, make_cell, run, status


@pytest.mark.parametrize("kind", [None, TaskRow, EvaluationRow])
def test_every_row_of_the_files_is_heard_and_a_listener_that_raises_loses_none(tmp_path, kind):
    """Of a result first its task, then its episodes, then the generation that they complete."""
    cell, heard = make_cell("cem", tmp_path, steps=400), []

    def listener(row):
        heard.append(row)
        if kind and isinstance(row, kind) and len(heard) > 40:
            raise ZeroDivisionError("a listener's own mistake")

    with cell_runner(0, listener) as runner:
        assert runner.run(cell) == ("failed" if kind else "done")
    for row in COUNTED if kind is None else (EpisodeRow,):
        lines = (cell.directory / row.file).read_text().splitlines()
        assert sum(isinstance(each, row) for each in heard) == sum(not line.startswith("#") for line in lines) - 1
    order = {TaskRow: 0, EpisodeRow: 1, GenerationRow: 2}
    places = [order[type(row)] for row in heard if type(row) in order]
    assert set(itertools.pairwise(places)) <= {(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 0)}
    if kind:
        assert "a listener's own mistake" in status(cell)["message"]
        complete(cell)
    check_same_as_whole(cell)


@pytest.fixture(autouse=True)
def all_points(monkeypatch):
    monkeypatch.setattr(live_curves, "EVERY", 0.0)


def fail_at_score(run, row):
    if isinstance(row, EvaluationRow) and row.evaluation == 1:
        raise ZeroDivisionError("as a kill, it saves nothing")


def test_the_curves_are_those_of_the_files(tmp_path, monkeypatch):
    number = event_file_writer.AtomicCounter(10)  # files of one second are read by their numbers' texts: 10 before 9
    monkeypatch.setattr(event_file_writer, "_global_uid", number)
    short = make_cell("cem", tmp_path, steps=700)
    with monkeypatch.context() as patch:
        listen(patch, fail_at_score)
        assert run(short, tensorboard=True) == 1
    complete(short, tensorboard=True)
    cell = interrupt(replace(short, total_timesteps=1500), 15, 10, tensorboard=True)
    complete(cell, tensorboard=True)
    assert len(list(cell.directory.glob("events.out.tfevents.*"))) == 5
    read = read_events(cell.directory)
    for row, tag, column in (
        (EvaluationRow, "eval/mean_reward", "return_mean"), (GenerationRow, "search/epsilon", "epsilon"),
    ):  # fmt: skip
        rows = read_rows(cell.directory, row)
        points = read.Scalars(tag)
        assert [point.step for point in points] == rows["timesteps"].tolist()
        moments = [point.wall_time for point in points]
        assert moments == sorted(moments)
        assert moments[-1] < time.time()
        assert [point.value for point in points] == pytest.approx(rows[column].tolist(), rel=1e-6)
    steps = [event.step for event in read.Scalars("rollout/ep_rew_mean")]
    assert steps == sorted(set(steps))  # what is played again after an interruption hides what was before
    assert steps[-1] >= 1500


def test_a_file_that_cannot_be_written_is_told_once_and_ends_nothing(tmp_path):
    told = []
    (tmp_path / "file").touch()
    curves = LiveCurves(tmp_path / "file", TrainingReturns(), lambda: 0, told.append)
    for generation in (0.0, 1.0):
        curves(GenerationRow(generation, *[0.0] * 5, {"sigma": 1.0}, *[None] * 6, *[0.0] * 3))
    curves.close()
    assert len(told) == 1


def test_without_tensorboard_nothing_starts(tmp_path, monkeypatch):
    monkeypatch.setattr(live_curves.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"erlbench\[exports\]"):
        run(make_cell("cem", tmp_path), tensorboard=True)
    assert not list(tmp_path.iterdir())
