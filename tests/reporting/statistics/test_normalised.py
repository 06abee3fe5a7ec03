"""Scores pooled over environments: between a random policy and the best of those compared."""

from dataclasses import replace
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest

from benchmarks.random_scores import random_returns
from erlbench.envs.catalogue import LISTED
from erlbench.reporting.pairs import aggregate_table, normalise, pooled_iqm, pooled_scores
from erlbench.reporting.published import random_score, random_scores
from erlbench.reporting.statistics import iqm_over_environments
from tests.reporting.compare import page_of
from tests.reporting.make_runs import make_run

TABLE = pd.read_csv(files("erlbench.reporting") / "random_scores.csv").set_index("env")


def page(folder, runs, baseline="base", untrained=0.0):
    """All runs of {environment: {name: scores}}, compared with the baseline."""
    for env, entries in runs.items():
        for name, scores in entries.items():
            for seed, score in enumerate(scores):
                make_run(folder, env, name, seed, [untrained, untrained, score])
    return replace(page_of(folder), baseline=baseline)


def test_the_random_policy_is_that_of_others():
    """D4RL (Fu et al. 2020) has -280.18 for HalfCheetah's random policy and 1.63 for Walker2d's, both of version 2."""
    assert set(TABLE.index) <= set(LISTED)
    assert min(TABLE.episodes) >= 100
    assert random_scores()["HalfCheetah-v5"] == pytest.approx(-280.18, abs=16)
    assert random_scores()["Walker2d-v4"] == pytest.approx(1.63, abs=2)


@pytest.mark.parametrize("env", ["Hopper-v5", "InvertedPendulum-v5", "Reacher-v5"])
def test_the_command_measures_what_the_table_has(env):
    returns = random_returns(env, 40)
    error = np.hypot(returns.std(ddof=1) / np.sqrt(40), TABLE.loc[env, "random_error"])
    assert abs(returns.mean() - TABLE.loc[env, "random"]) < 4 * error


def test_presets_share_a_random_policy_and_own_settings_have_none():
    assert random_score("Hopper-v5@paper") == random_score("Hopper-v5")
    assert random_score("Hopper-v5 (frame_skip=2)") is None
    assert random_score("My-v0") is None


def test_scales_by_hand(tmp_path):
    """Also where means are negative: Reacher's scores are all below zero."""
    comparison = page(tmp_path, {
        "Reacher-v5": {"base": [-20.0, -22.0], "aes-rl": [-5.0, -6.0]},
        "Hopper-v5": {"base": [3000.0, 3100.0], "aes-rl": [2000.0, 2200.0]},
    })  # fmt: skip
    hopper, reacher = (random_score(env) for env in ("Hopper-v5", "Reacher-v5"))
    expected = [(score - hopper) / (3050 - hopper) for score in (2000, 2200)]
    expected += [(score - reacher) / (-5.5 - reacher) for score in (-5, -6)]
    found = pooled_scores(comparison)
    assert np.sort(np.concatenate(normalise(*found)["aes-rl"])) == pytest.approx(np.sort(expected))
    value, low, _ = pooled_iqm(*found, "aes-rl")
    assert value == pytest.approx(np.sort(expected)[1:3].mean())
    assert np.isnan(low)  # two seeds have no interval
    table = aggregate_table(comparison)
    assert "1 the best mean" in " ".join(table.notes)
    assert pooled_iqm(*pooled_scores(replace(comparison, baseline="aes-rl")), "aes-rl")[0] == value


def test_a_negative_baseline_removes_no_mean(tmp_path):
    """Costs: an own environment is scaled by its runs before training."""
    comparison = page(tmp_path, {
        "Hopper-v5": {"base": [500.0] * 6, "aes-rl": [600.0] * 6},
        "Mine-v0": {"base": [-300.0] * 6, "aes-rl": [-100.0] * 6},
    }, untrained=-500.0)  # fmt: skip
    found = pooled_scores(comparison)
    assert normalise(*found)["base"][1] == pytest.approx([0.5] * 6)
    assert pooled_iqm(*found, "aes-rl")[0] == pytest.approx(1)
    assert not np.isnan(pooled_iqm(*found, "base")).any()


@pytest.mark.slow
@pytest.mark.parametrize("runs", [6, 10])
def test_the_interval_covers_though_the_best_mean_is_no_constant(runs):
    """In simulated studies of six environments with spreads as of TD3; the true value is that of 400,000 runs."""
    rng = np.random.default_rng(runs)
    own, base, spread = np.ones(6), rng.uniform(1.2, 1.6, 6), rng.uniform(0.1, 0.35, 6)

    def draw(centre, count):
        return [c * (1 + s * rng.normal(size=count)) for c, s in zip(centre, spread, strict=True)]

    def scores(count):
        return {"base": draw(base, count), "own": draw(own, count)}, (0.0,) * 6

    truth = iqm_over_environments(normalise(*scores(400_000))["own"])
    covered = [low <= truth <= high for _, low, high in (pooled_iqm(*scores(runs), "own", 100) for _ in range(60))]
    assert np.mean(covered) >= 0.85  # 0.95 less three and a half standard errors
