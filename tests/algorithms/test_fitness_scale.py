"""AES-RL finds the scale of returns by itself where no paper has one, and so it selects on every scale."""

from statistics import stdev

import numpy as np
import pytest

from erlbench.algorithms.search.aes_updates import FEWEST, FitnessScale, deviation
from tests.runs import complete, make_cell, meta, rows


def test_the_scale_is_the_deviation_of_the_first_returns_and_stays():
    scale, returns = FitnessScale(), [float(value) for value in np.random.default_rng(0).normal(-300, 40, FEWEST + 3)]
    for value in returns[:-1]:
        scale.add(value, warm=False)
    assert not scale.known
    scale.add(returns[-1], warm=True)
    assert (scale.now(), scale.worst()) == (pytest.approx(stdev(returns)), min(returns))
    scale.add(1e9, warm=True)
    assert scale.now() == pytest.approx(stdev(returns))


def test_equal_and_infinite_returns_give_no_scale_but_a_number_to_go_on_with():
    scale = FitnessScale()
    assert (scale.now(), scale.worst()) == (1.0, -1.0)
    for value in (3.0,) * 20 + (float("nan"), float("-inf")):
        scale.add(value, warm=True)
    assert (scale.known, scale.now(), scale.worst()) == (False, 1.0, 3.0)
    scale.add(5.0, warm=True)
    assert scale.known
    assert scale.now() == deviation([3.0] * 20 + [5.0])


def test_a_run_prints_and_records_the_scale_of_its_first_returns(tmp_path, capsys):
    settings = {"baseline": None, "start_timesteps": 200}
    cell = complete(make_cell("aes-rl", tmp_path, steps=240, simulated_time=True, workers=3, settings=settings))
    measured = meta(cell)["measured"]["baseline"]
    random = [float(row["r"]) for row in rows(cell.directory, "episodes.csv") if row["kind"] == "random"]
    assert 0 < measured < max(random) - min(random)
    assert f"baseline {measured:.4g}" in " ".join(capsys.readouterr().err.split())
