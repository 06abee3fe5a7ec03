"""What a run says of itself: each row when it is written, where it is saved, and a listener that raises."""

from __future__ import annotations

import itertools
import threading
from contextlib import closing
from types import SimpleNamespace

import numpy as np
import pytest

from erlbench.experiment.cells import RunOptions
from erlbench.records.schema import COUNTED, EpisodeRow, EvaluationRow, GenerationRow, TaskRow
from erlbench.running import loop, state
from erlbench.running.cell import CellRunner, CommandContext
from erlbench.running.folder import RunFolder
from erlbench.running.progress import Display
from tests.runs import all_rows, make_cell, run


def heard(cell, *listeners):
    """Run a cell with listeners; how it ended."""
    options = RunOptions(0, verbosity=-1, device="cpu")
    context = CommandContext(options=options, display=Display(-1), stop=threading.Event(), listeners=listeners)
    with closing(context.pauses), closing(CellRunner(context)) as job:
        return job.run(cell)


def test_every_row_of_the_files_is_heard(tmp_path):
    """Of a result first its task, then its episodes, then the generation that they complete."""
    cell, seen = make_cell("cem", tmp_path, steps=400), []
    assert heard(cell, seen.append) == "done"
    for row in COUNTED:
        lines = (cell.directory / row.file).read_text().splitlines()
        assert sum(isinstance(heard, row) for heard in seen) == sum(not line.startswith("#") for line in lines) - 1
    order = {TaskRow: 0, EpisodeRow: 1, GenerationRow: 2}
    places = [order[type(row)] for row in seen if type(row) in order]
    assert set(itertools.pairwise(places)) <= {(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 0)}


@pytest.mark.parametrize(("every", "first", "interval"), [(60.0, 10, 60), (3.0, 3, 3)])
def test_the_first_checkpoint_comes_early_and_those_of_evaluations_delay_none(
    tmp_path, monkeypatch, every, first, interval
):
    """A second passes with each look at the clock."""
    seconds, saved = itertools.count(), []
    monkeypatch.setattr(loop, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    write = state.save_checkpoint

    def note(folder, *arguments):
        saved.extend([next(seconds)] if folder.name == "checkpoint" else [])
        return write(folder, *arguments)

    monkeypatch.setattr(state, "save_checkpoint", note)
    cell = make_cell("cem", tmp_path, steps=2000, eval_freq=50)
    assert run(cell, checkpoint_every=every) == 0
    begun, *later = saved
    waits = np.diff([begun, *later])
    assert first <= waits[0] <= first + 3
    assert len(waits) > 1
    assert all(interval <= wait <= interval + 3 for wait in waits[1:])


@pytest.mark.parametrize("kind", [TaskRow, GenerationRow, EvaluationRow])
def test_a_listener_that_raises_ends_the_run_and_loses_nothing(tmp_path, kind):
    whole, cell = (make_cell("cem", tmp_path / name, steps=400) for name in ("whole", "broken"))
    assert run(whole) == 0
    seen = []

    def raises(row):
        seen.append(row)
        if isinstance(row, kind) and len(seen) > 40:
            raise ZeroDivisionError("a listener's own mistake")

    assert heard(cell, raises) == "failed"
    assert "a listener's own mistake" in RunFolder(cell.directory).status()["message"]
    lines = (cell.directory / "episodes.csv").read_text().splitlines()[2:]
    assert len(lines) == sum(isinstance(row, EpisodeRow) for row in seen)
    assert run(cell) == 0
    assert all_rows(cell.directory) == all_rows(whole.directory)
