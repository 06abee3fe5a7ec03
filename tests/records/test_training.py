"""The running mean of training returns: in status.json, after a resume, over a whole file."""

from __future__ import annotations

import json

import numpy as np
import pytest

from erlbench.records.read import read_rows
from erlbench.records.schema import EpisodeRow, row_of
from erlbench.records.training import TrainingReturns, running_means
from tests.runs import interrupt, make_cell, run


def episode(value: float, kind: str = "es") -> EpisodeRow:
    return row_of(EpisodeRow, {"r": value, "l": 10, "kind": kind})


def test_only_training_episodes_count_and_only_the_last_hundred():
    returns = TrainingReturns()
    assert returns.mean is None
    for value in range(250):
        returns.add(episode(float(value), ("es", "rl", "random")[value % 3]))
        returns.add(episode(-1e9, "mean"))
        returns.add(episode(1e9, "validation"))
    assert returns.mean == pytest.approx(np.mean(range(150, 250)))


def trained(folder):
    rows = read_rows(folder, EpisodeRow)
    return rows[~rows["kind"].isin(("mean", "validation"))]["r"].to_numpy()


@pytest.mark.parametrize("algo", ["cem", "aes-rl"])  # aes-rl measures its mean by episodes of their own
def test_status_json_has_the_mean_also_after_an_interruption(tmp_path, algo):
    cell = make_cell(algo, tmp_path, steps=1500)
    interrupt(cell, 30, 10)
    status = json.loads((cell.directory / "status.json").read_text())
    assert status["training_return"] == pytest.approx(trained(cell.directory)[-100:].mean())
    assert run(cell) == 0
    status = json.loads((cell.directory / "status.json").read_text())
    assert status["training_return"] == pytest.approx(trained(cell.directory)[-100:].mean())


def test_running_means_of_a_file(tmp_path):
    cell = make_cell("cem", tmp_path, steps=3000)
    assert run(cell) == 0
    values = trained(cell.directory)
    assert len(values) > 100
    means = running_means(read_rows(cell.directory, EpisodeRow))["mean"].to_numpy()
    wanted = [values[max(0, end - 100) : end].mean() for end in range(1, len(values) + 1)]
    np.testing.assert_allclose(means, wanted)
