"""Live curves: TensorBoard reads what the rows say, also after an interruption; a full disk ends no run."""

from __future__ import annotations

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from erlbench.errors import UsageError
from erlbench.records.read import read_rows
from erlbench.records.schema import EvaluationRow, GenerationRow
from erlbench.records.training import TrainingReturns
from erlbench.running import live_curves
from erlbench.running.live_curves import EventFile
from tests.runs import interrupt, make_cell, run


@pytest.fixture(autouse=True)
def all_points(monkeypatch):
    monkeypatch.setattr(live_curves, "EVERY", 0.0)


@pytest.mark.parametrize("stops", [(), (15, 10)])
def test_the_curves_are_those_of_the_files(tmp_path, stops):
    cell = make_cell("cem", tmp_path, steps=1500)
    interrupt(cell, *stops, tensorboard=True)
    assert run(cell, tensorboard=True) == 0
    assert len(list(cell.directory.glob("events.out.tfevents.*"))) == 1 + len(stops)
    read = EventAccumulator(str(cell.directory))
    read.Reload()
    for row, tag, column in (
        (EvaluationRow, "eval/mean_reward", "return_mean"), (GenerationRow, "search/epsilon", "epsilon"),
    ):  # fmt: skip
        rows = read_rows(cell.directory, row)
        points = dict.fromkeys((event.step, event.value) for event in read.Scalars(tag))
        assert [step for step, _ in points] == rows["timesteps"].tolist()
        assert [value for _, value in points] == pytest.approx(rows[column].tolist(), rel=1e-6)
    steps = [event.step for event in read.Scalars("rollout/ep_rew_mean")]
    assert steps == sorted(set(steps))  # what is played again after an interruption hides what was before
    assert steps[-1] >= 1500


def test_a_file_that_cannot_be_written_is_told_once_and_ends_nothing(tmp_path):
    told: list[str] = []
    events = EventFile(tmp_path / "missing", TrainingReturns(), lambda: 0, told.append)
    events(GenerationRow(*[0.0] * 6, {"sigma": 1.0}, *[None] * 6, *[0.0] * 3))
    events.close()
    assert len(told) == 1
    assert "no more live curves" in told[0]


def test_without_tensorboard_nothing_starts(tmp_path, monkeypatch):
    monkeypatch.setattr(live_curves.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"erlbench\[exports\]"):
        run(make_cell("cem", tmp_path), tensorboard=True)
    assert not list(tmp_path.iterdir())
