"""AES-RL finds the scale of returns by itself where no paper has one, and so it selects on every scale."""

import json
from statistics import stdev

import numpy as np
import pytest

from erlbench.algorithms.search.aes_updates import FEWEST, FitnessScale, deviation
from erlbench.experiment.costs import built_in_costs
from tests.runs import make_cell, rows, run

SIMULATED = {"simulated_time": True, "workers": 3, "costs": built_in_costs()}
ENV = "Pendulum-v1"


def by_rule(out, **changes):
    settings = {"baseline": None, "start_timesteps": 2000, **changes.pop("settings", {})}
    return make_cell("aes-rl", out, settings=settings, **{"env": ENV, "steps": 6000} | SIMULATED | changes)


def measured(cell):
    return json.loads((cell.directory / "meta.json").read_text())["measured"]["baseline"]


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
    cell = by_rule(tmp_path, env="InvertedPendulum-v5", steps=240, settings={"start_timesteps": 200})
    assert run(cell) == 0
    random = [float(row["r"]) for row in rows(cell.directory, "episodes.csv") if row["kind"] == "random"]
    assert 0 < measured(cell) < max(random) - min(random)
    assert f"baseline {measured(cell):.4g}" in " ".join(capsys.readouterr().err.split())
