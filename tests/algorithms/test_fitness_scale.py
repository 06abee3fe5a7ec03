"""AES-RL finds the scale of returns by itself where no paper has one, and so it selects on every scale."""

from __future__ import annotations

import json
from statistics import fmean, stdev

import numpy as np
import pytest

from erlbench.algorithms.search.aes_updates import FEWEST, RATIOS, FitnessScale, deviation, update_ratio
from erlbench.experiment.costs import built_in_costs
from erlbench.verification.comparison import MEASURED
from tests.runs import interrupt, make_cell, rows, run

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
    for value in (3.0,) * 20 + (float("nan"), float("-inf")):
        scale.add(value, warm=True)
    assert (scale.known, scale.now(), scale.worst()) == (False, 1.0, 3.0)
    scale.add(5.0, warm=True)
    assert scale.known
    assert scale.now() == deviation([3.0] * 20 + [5.0])


@pytest.mark.parametrize("size", [1.0, 10.0, 100.0, 1000.0, 10_000.0])
@pytest.mark.parametrize("rule", [name for name in RATIOS if name not in ("full-move",)])
def test_better_individuals_move_the_mean_more_on_every_scale(size, rule):
    random, scale = np.random.default_rng(1), FitnessScale()
    for value in random.normal(-3 * size, size, 20):
        scale.add(float(value), warm=True)
    used = scale.worst() if rule.startswith("baseline-absolute") else scale.now()
    psg = (1.0, 1.0) if rule == "fixed-range-sigmoid" else (1.0, 0.0)
    moves = {True: [], False: []}
    for f_z in random.normal(-3 * size, size, 1000):
        moves[bool(f_z > -3 * size)].append(update_ratio(rule, float(f_z), -3 * size, used, psg))
    assert fmean(moves[True]) > fmean(moves[False]) + 0.15
    a_thousand = [update_ratio("baseline-relative", -3 + one, -3.0, 1000.0, (1.0, 0.0)) for one in (-1, 1)]
    assert a_thousand == pytest.approx([0.5, 0.5], abs=1e-3)  # the setting of before: no selection


def test_a_run_prints_and_records_the_scale_of_its_first_returns(tmp_path, capsys):
    cell = by_rule(tmp_path, env="InvertedPendulum-v5", steps=240, settings={"start_timesteps": 200})
    assert run(cell) == 0
    random = [float(row["r"]) for row in rows(cell.directory, "episodes.csv") if row["kind"] == "random"]
    assert 0 < measured(cell) < max(random) - min(random)
    assert f"baseline {measured(cell):.4g}" in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
def test_the_scale_is_recorded_and_the_same_with_processes_and_after_an_interruption(tmp_path):
    cells = [by_rule(tmp_path / name) for name in ("first", "two", "halted")]
    assert run(cells[0]) == 0
    assert run(cells[1], processes=2) == 0
    interrupt(cells[2], 20, 60)
    assert run(cells[2]) == 0
    random = [float(row["r"]) for row in rows(cells[0].directory, "episodes.csv") if row["kind"] == "random"]
    assert measured(cells[0]) == pytest.approx(stdev(random[: max(FEWEST, 10)]), rel=0.2)
    assert len({measured(cell) for cell in cells}) == 1
    known = [[{k: v for k, v in row.items() if k not in MEASURED} for row in rows(cell.directory, "train.csv")]
             for cell in cells]  # fmt: skip
    assert known[0] == known[1] == known[2]
    moves = [(float(row["f_z"]) - float(row["f_mean"]), float(row["p"])) for row in known[0]]
    better, worse = ([p for d, p in moves if (d > 0) == sign] for sign in (True, False))
    assert fmean(better) > fmean(worse) + 0.15
