"""The running mean of training returns: in status.json, after a resume, over a whole file."""

from __future__ import annotations

import json

import numpy as np
import pytest

from erlbench.records.read import read_rows
from erlbench.records.schema import EpisodeRow, row_of
from erlbench.records.training import TrainingReturns, running_means
from tests.runs import interrupt, make_cell, run


def test_only_training_episodes_count_and_only_the_last_hundred():
    returns = TrainingReturns()
    assert returns.mean is None
    for value in range(250):
        for number, kind in ((float(value), ("es", "rl", "random")[value % 3]), (-1e9, "mean"), (1e9, "validation")):
            returns.add(row_of(EpisodeRow, {"r": number, "l": 10, "kind": kind}))
    assert returns.mean == pytest.approx(np.mean(range(150, 250)))


@pytest.mark.parametrize(("algo", "steps"), [("cem", 2500), ("aes-rl", 700)])  # the latter has episodes of its mean
def test_the_mean_of_a_run_is_that_of_its_file_also_after_an_interruption(tmp_path, algo, steps):
    cell = interrupt(make_cell(algo, tmp_path, steps=steps), 30, 10)
    for _ in range(2):
        rows = read_rows(cell.directory, EpisodeRow)
        values = rows[~rows["kind"].isin(("mean", "validation"))]["r"].to_numpy()
        status = json.loads((cell.directory / "status.json").read_text())
        assert status["training_return"] == pytest.approx(values[-100:].mean())
        means = [values[max(0, end - 100) : end].mean() for end in range(1, len(values) + 1)]
        np.testing.assert_allclose(running_means(rows)["mean"], means)
        assert run(cell) == 0
    assert len(values) > 100 or algo != "cem"
