"""Scores pooled over environments: between a random policy and the best of those compared."""

from dataclasses import replace
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest

from benchmarks.random_scores import random_returns
from erlbench.envs.catalogue import LISTED
from erlbench.reporting.pairs import normalise, pooled_iqm, pooled_scores
from erlbench.reporting.published import random_score, random_scores
from tests.reporting.compare import page_of, run_report
from tests.reporting.make_runs import make_cells

TABLE = pd.read_csv(files("erlbench.reporting") / "random_scores.csv").set_index("env")


def page(folder, runs, untrained=0.0):
    """All runs of {environment: {name: scores}}, compared with `base`."""
    for env, scores in runs.items():
        make_cells(folder, env, scores, before=(untrained, untrained))
    return page_of(folder, baseline="base")


def test_the_random_policy_is_that_of_others():
    """D4RL (Fu et al. 2020) has -280.18 for HalfCheetah's random policy and 1.63 for Walker2d's, both of version 2."""
    assert set(TABLE.index) <= set(LISTED)
    assert min(TABLE.episodes) >= 100
    assert random_scores()["HalfCheetah-v5"] == pytest.approx(-280.18, abs=16)
    assert random_scores()["Walker2d-v4"] == pytest.approx(1.63, abs=2)
    assert random_score("Hopper-v5@paper") == random_score("Hopper-v5")
    assert random_score("Hopper-v5 (frame_skip=2)") is random_score("My-v0") is None


@pytest.mark.parametrize("env", ["Hopper-v5", "Reacher-v5"])
def test_the_command_measures_what_the_table_has(env):
    returns = random_returns(env, 40)
    error = np.hypot(returns.std(ddof=1) / np.sqrt(40), TABLE.loc[env, "random_error"])
    assert abs(returns.mean() - TABLE.loc[env, "random"]) < 4 * error


def test_scales_by_hand(tmp_path):
    """Also where means are negative: Reacher's scores are all below zero."""
    comparison = page(tmp_path, {
        "Reacher-v5": {"base": [-20.0, -22.0], "aes-rl": [-5.0, -6.0]},
        "Hopper-v5": {"base": [3000.0, 3100.0], "aes-rl": [2000.0, 2200.0]},
    })  # fmt: skip
    hopper, reacher = (random_score(env) for env in ("Hopper-v5", "Reacher-v5"))
    expected = [(score - hopper) / (3050 - hopper) for score in (2000, 2200)]
    expected += [(score - reacher) / (-5.5 - reacher) for score in (-5, -6)]
    pooled = pooled_scores(comparison)
    assert np.sort(np.concatenate(normalise(*pooled)["aes-rl"])) == pytest.approx(np.sort(expected))
    value, low, _ = pooled_iqm(*pooled, "aes-rl")
    assert value == pytest.approx(np.sort(expected)[1:3].mean())
    assert np.isnan(low)  # two seeds have no interval
    assert pooled_iqm(*pooled_scores(replace(comparison, baseline="aes-rl")), "aes-rl")[0] == value


def test_a_negative_baseline_removes_no_mean(tmp_path):
    """Costs: an own environment is scaled by its runs before training."""
    pooled = pooled_scores(page(tmp_path, {
        "Hopper-v5": {"base": [500.0] * 6, "aes-rl": [600.0] * 6},
        "Mine-v0": {"base": [-300.0] * 6, "aes-rl": [-100.0] * 6},
    }, untrained=-500.0))  # fmt: skip
    assert normalise(*pooled)["base"][1] == pytest.approx([0.5] * 6)
    assert pooled_iqm(*pooled, "aes-rl")[0] == pytest.approx(1)
    assert not np.isnan(pooled_iqm(*pooled, "base")).any()


def test_environments_without_the_baseline_and_entries_without_an_environment_are_left_out(tmp_path):
    scores = {
        "Ant-v5": {"cem": 1.0},
        "Hopper-v5": {"base": 300.0, "aes-rl": 400.0, "cem": 350.0},
        "Swimmer-v5": {"base": 30.0, "aes-rl": 20.0},
        "Reacher-v5": {"aes-rl": -5.0, "cem": -6.0},
    }
    for env, levels in scores.items():
        make_cells(tmp_path / "runs", env, {name: level + np.arange(6) / 10 for name, level in levels.items()})
    run_report(tmp_path / "runs", "--baseline", "base", "--metric", "final", "--out", tmp_path / "report")
    table = pd.read_csv(tmp_path / "report/all-runs/aggregate.csv").set_index("name")
    assert set(table.environments) == {"Hopper-v5, Swimmer-v5"}
    assert table.seeds.to_dict() == {"base": 12, "aes-rl": 12}
    assert table.probability_of_improvement["aes-rl"] == 0.5  # all runs better on one task, all worse on the other
    gains = pd.read_csv(tmp_path / "report/all-runs/scores.csv").set_index(["env", "name"]).improvement_pct
    assert {env for env, _ in gains.dropna().index} == {"Hopper-v5", "Swimmer-v5"}
