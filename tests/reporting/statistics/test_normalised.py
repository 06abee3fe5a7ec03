"""Scores pooled over environments: fixed scales and their sources, the baseline's means, weights."""

from dataclasses import replace
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest

from erlbench.envs.catalogue import LISTED
from erlbench.reporting.data.normalisation import scale_of, scales
from erlbench.reporting.statistics.normalised import FIXED, RELATIVE, normalised
from erlbench.reporting.tables.aggregate import aggregate_table
from tests.reporting.compare import page_of
from tests.reporting.make_runs import make_run


def page(folder, runs, baseline="base"):
    """All runs of {environment: {name: scores}}, compared with the baseline."""
    for env, entries in runs.items():
        for name, scores in entries.items():
            for seed, score in enumerate(scores):
                make_run(folder, env, name, seed, [0, 0, score])
    return replace(page_of(folder), baseline=baseline)


def test_every_scale_has_a_published_source():
    """The reference is the number of published.csv that it names; a task of dm_control returns at most 1,000."""
    published = pd.read_csv(files("erlbench.reporting") / "published.csv")
    for _, row in pd.read_csv(files("erlbench.reporting") / "normalisation.csv").iterrows():
        assert row["env"] in LISTED
        assert row["episodes"] >= 100
        assert row["random"] + 5 * row["random_error"] < row["reference"]
        if row["env"].startswith("dm_control/"):
            assert row["reference"] == LISTED[row["env"]].limit == 1000
            continue
        same = published[
            (published.source == row["source"]) & (published.env == row["source_env"])
            & (published.algorithm == row["source_algorithm"]) & (published.statistic == "mean")
        ]  # fmt: skip
        assert row["reference"] in same["value"].to_numpy()


def test_the_random_policy_is_that_of_others():
    """D4RL (Fu et al. 2020) has -280.18 for HalfCheetah's random policy and 1.63 for Walker2d's, both of version 2."""
    assert scales()["HalfCheetah-v5"].random == pytest.approx(-280.18, abs=16)
    assert scales()["Walker2d-v4"].random == pytest.approx(1.63, abs=2)


def test_presets_share_a_scale_and_own_settings_have_none():
    assert scale_of("Hopper-v5@paper") == scale_of("Hopper-v5")
    assert scale_of("Hopper-v5 (frame_skip=2)") is None
    assert scale_of("My-v0") is None


def test_fixed_scales_by_hand(tmp_path):
    """Also where means are negative: Reacher's scores are all below zero."""
    comparison = page(tmp_path, {
        "Reacher-v5": {"base": [-20.0, -22.0], "aes-rl": [-5.0, -6.0]},
        "Hopper-v5": {"base": [1000.0, 1100.0], "aes-rl": [2000.0, 2200.0]},
    })  # fmt: skip
    found = normalised(comparison)
    assert found.how == FIXED
    hopper, reacher = scales()["Hopper-v5"], scales()["Reacher-v5"]
    expected = [(2000 - hopper.random) / (3564.1 - hopper.random), (2200 - hopper.random) / (3564.1 - hopper.random)]
    expected += [(-5 - reacher.random) / (-3.7 - reacher.random), (-6 - reacher.random) / (-3.7 - reacher.random)]
    assert np.sort(np.concatenate(found.scores["aes-rl"])) == pytest.approx(np.sort(expected))
    value, low, high = found.iqm("aes-rl")
    assert value == pytest.approx(np.sort(expected)[1:3].mean())
    assert low < value < high
    table = aggregate_table(comparison)
    assert table is not None
    assert "IQM" in table.header
    assert "0 is a random policy and 1 a published score" in " ".join(table.notes)


def test_the_interval_on_fixed_scales_does_not_depend_on_the_baseline(tmp_path):
    runs = {env: {"base": [500.0, 900.0, 700.0], "other": [100.0, 900.0, 2000.0], "aes-rl": [800.0, 950.0, 990.0]}
            for env in ("Hopper-v5", "Walker2d-v5")}  # fmt: skip
    comparison = page(tmp_path, runs)
    assert normalised(comparison).iqm("aes-rl") == normalised(replace(comparison, baseline="other")).iqm("aes-rl")


def test_environments_weigh_the_same_whatever_their_runs(tmp_path):
    """10 runs at 2.0 and 2 at 0.5 give 1.25, on fixed scales and relative to a baseline."""
    hopper, walker = scales()["Hopper-v5"], scales()["Walker2d-v5"]

    def on(scale, value):
        return scale.random + value * (scale.reference - scale.random)

    fixed = page(tmp_path / "fixed", {
        "Hopper-v5": {"base": [on(hopper, 1.0)] * 2, "aes-rl": [on(hopper, 2.0)] * 10},
        "Walker2d-v5": {"base": [on(walker, 1.0)] * 2, "aes-rl": [on(walker, 0.5)] * 2},
    })  # fmt: skip
    own = page(tmp_path / "own", {
        "Mine-v0": {"base": [10.0, 10.0], "aes-rl": [20.0] * 10}, "Other-v0": {"base": [4.0, 4.0], "aes-rl": [2.0] * 2},
    })  # fmt: skip
    for comparison, how in ((fixed, FIXED), (own, RELATIVE)):
        assert normalised(comparison).how == how
        assert normalised(comparison).iqm("aes-rl")[0] == pytest.approx(1.25)


def test_an_environment_without_a_scale_makes_scores_relative_to_the_baseline(tmp_path):
    comparison = page(tmp_path, {
        "Hopper-v5": {"base": [1, 3, 2], "aes-rl": [2, 4, 3]},
        "Mine-v0": {"base": [10, 30, 20], "aes-rl": [20, 40, 30]},
    })  # fmt: skip
    assert [list(v) for v in normalised(comparison).scores["aes-rl"]] == [[1, 2, 1.5], [1, 2, 1.5]]
    value, low, high = normalised(comparison).iqm("aes-rl")
    assert value == pytest.approx(1.5)
    assert low < value < high


def test_no_relative_scores_of_a_negative_baseline(tmp_path):
    comparison = page(tmp_path, {"Hopper-v5": {"base": [5], "aes-rl": [5]}, "Mine-v0": {"base": [-5], "aes-rl": [5]}})
    assert not normalised(comparison).scores
    table = aggregate_table(comparison)
    assert table is not None
    assert "is not positive everywhere" in " ".join(table.notes)
