"""The stream of a run's records: what is in it, in which order it is heard, and a listener that raises."""

from __future__ import annotations

import itertools
import threading
from contextlib import closing
from types import SimpleNamespace

import numpy as np
import pytest

from erlbench.experiment.cells import RunOptions
from erlbench.records.schema import COUNTED, EpisodeRow, EvaluationRow, GenerationRow, TaskRow
from erlbench.running import progress
from erlbench.running.jobs import Runner
from erlbench.running.listeners import checkpoints as checkpoints_module
from erlbench.running.listeners.checkpoints import Checkpoints
from erlbench.running.listeners.files import RowFiles
from erlbench.running.loop import WHOLE, Taken
from erlbench.running.results import RunDirectory
from tests.runs import all_rows, listen, make_cell, run


def heard(cell, *listeners):
    """Run a cell with listeners; how it ended."""
    options = RunOptions(0, verbosity=-1, device="cpu")
    with closing(Runner(options, progress.create(-1), threading.Event(), listeners)) as runner:
        return runner.run(cell)


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """All records of a CEM cell, as a listener gets them."""
    seen = []
    assert heard(make_cell("cem", tmp_path_factory.mktemp("results"), steps=400), seen.append) == "done"
    return seen


def test_each_step_ends_where_the_run_can_be_saved(records):
    """A step has a task, then its episodes, then the generation that they complete, then what is taken at its end."""
    order = {TaskRow: 0, EpisodeRow: 1, GenerationRow: 2, Taken: 3}
    places, end = [], max(n for n, record in enumerate(records) if isinstance(record, GenerationRow))
    for record in records[1:end]:  # the first policy is taken before the first step
        if record is WHOLE:
            assert places == sorted(places)
            assert places[:1] in ([0], [])
            places = []
        elif not isinstance(record, EvaluationRow):
            places.append(order[type(record)])


def test_every_row_of_the_files_is_a_record(tmp_path):
    cell, seen = make_cell("cem", tmp_path, steps=400), []
    assert heard(cell, seen.append) == "done"
    for row in COUNTED:
        lines = (cell.directory / row.file).read_text().splitlines()
        assert sum(isinstance(record, row) for record in seen) == sum(not line.startswith("#") for line in lines) - 1


def test_each_evaluation_is_taken_before_its_row(records):
    taken = [record.number for record in records if isinstance(record, Taken)]
    assert taken == list(range(len(taken)))
    assert [row.evaluation for row in records if isinstance(row, EvaluationRow)] == taken
    assert [record.final for record in records if isinstance(record, Taken)] == [False] * (len(taken) - 1) + [True]


def test_files_and_checkpoints_hear_before_the_caller_and_stopping_last(tmp_path, monkeypatch):
    def mine(record):
        pass

    found = []
    listen(monkeypatch, lambda training, record: found.append(training.listeners[1:]))  # the first is that of `listen`
    assert heard(make_cell("cem", tmp_path, steps=50), mine) == "done"
    files, checkpoints, *others, stopping = found[0]
    assert isinstance(files, RowFiles)
    assert isinstance(checkpoints, Checkpoints)
    assert others[-1] is mine
    assert stopping.__name__ == "_stop_if_asked"


def test_the_rows_that_a_checkpoint_counts_on_are_in_their_files(tmp_path, monkeypatch):
    saved = []

    def look(training, record):
        if record is WHOLE:
            training.save()
            state = training.files.state()
            saved.append([state[name]["length"] for name in ("eval", "episodes", "tasks", "train")])
            sizes = [(training.directory.path / row.file).stat().st_size for row in COUNTED]
            assert sorted(sizes) == sorted(saved[-1])

    listen(monkeypatch, look)
    assert run(make_cell("cem", tmp_path, steps=100)) == 0
    assert saved[-1] > saved[0]


@pytest.mark.parametrize(("every", "first", "interval"), [(60.0, 10, 60), (3.0, 3, 3)])
def test_the_first_checkpoint_comes_early_and_those_of_evaluations_delay_none(
    tmp_path, monkeypatch, every, first, interval
):
    """A second passes with each look at the clock; a checkpoint of each evaluation is kept besides."""
    seconds, saved = itertools.count(), []
    monkeypatch.setattr(checkpoints_module, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    write = checkpoints_module.save_checkpoint

    def note(folder, *arguments):
        saved.extend([next(seconds)] if folder.name == "checkpoint" else [])
        return write(folder, *arguments)

    monkeypatch.setattr(checkpoints_module, "save_checkpoint", note)
    cell = make_cell("cem", tmp_path, steps=2000, eval_freq=50)
    assert run(cell, checkpoint_every=every, keep_checkpoints=True) == 0
    begun, *later = saved
    waits = np.diff([begun, *later])
    assert first <= waits[0] <= first + 3
    assert len(waits) > 1
    assert all(interval <= wait <= interval + 3 for wait in waits[1:])


@pytest.mark.parametrize("kind", [TaskRow, GenerationRow, EvaluationRow, type(WHOLE)])
def test_a_listener_that_raises_ends_the_run_and_loses_nothing(tmp_path, kind):
    whole, cell = (make_cell("cem", tmp_path / name, steps=400) for name in ("whole", "broken"))
    assert run(whole) == 0
    seen = []

    def raises(record):
        seen.append(record)
        if isinstance(record, kind) and len(seen) > 60:
            raise ZeroDivisionError("a listener's own mistake")

    assert heard(cell, raises) == "failed"
    assert "a listener's own mistake" in RunDirectory(cell.directory).status()["message"]
    lines = (cell.directory / "episodes.csv").read_text().splitlines()[2:]
    assert len(lines) == sum(isinstance(record, EpisodeRow) for record in seen)
    assert run(cell) == 0
    assert all_rows(cell.directory) == all_rows(whole.directory)
