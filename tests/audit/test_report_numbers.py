"""Every number of a synthetic report, computed again from the raw files by pandas, SciPy, statsmodels and rliable."""

from __future__ import annotations

from importlib.resources import files
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from rliable import metrics
from scipy import stats
from statsmodels.stats import weightstats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestIndPower

from erlbench.cli import cli
from tests.reporting.make_runs import make_run

RUNS = 6
FINAL = {
    "Hopper-v5": {"base": 1000, "better": 1600, "same": 1010},
    "Swimmer-v5": {"base": 50, "better": 65, "same": 49},
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Raw runs, and the report on them with `base` as the baseline."""
    raw, out = tmp_path_factory.mktemp("raw"), tmp_path_factory.mktemp("report")
    rng = np.random.default_rng(0)
    for env, levels in FINAL.items():
        for name, level in levels.items():
            for seed in range(RUNS):
                curve = level * (1 - np.exp(-np.linspace(0, 4, 13))) * (1 + 0.1 * rng.normal(size=13))
                make_run(raw, env, name, seed, list(curve), seconds_per_step=0.01 + 0.001 * seed, warmup=2000)
    done = CliRunner().invoke(cli, ["report", str(raw), "--baseline", "base", "--out", str(out)])
    assert done.exit_code == 0, done.output
    return raw, out / "all-runs"


@pytest.fixture(scope="module")
def raw(folders):
    """All rows of all eval.csv in one frame."""
    frames = []
    for path in folders[0].rglob("eval.csv"):
        env, name, seed = path.parts[-4:-1]
        frames.append(pd.read_csv(path).assign(env=env, name=name, seed=seed))
    return pd.concat(frames).sort_values(["env", "name", "seed", "timesteps"])


@pytest.fixture(scope="module")
def final(raw):
    """The last return of each run, by environment and name."""
    last = raw.groupby(["env", "name", "seed"]).tail(1)
    return {key: group["return_mean"].to_numpy() for key, group in last.groupby(["env", "name"])}


def read(folders, table):
    return pd.read_csv(folders[1] / f"{table}.csv")


def test_scores(folders, final):
    table = read(folders, "scores").set_index(["env", "name"])
    assert len(table) == 6
    others = [key for key in table.index if key[1] != "base"]
    p = [stats.ttest_ind(final[key], final[key[0], "base"], equal_var=False).pvalue for key in others]
    adjusted = dict(zip(others, multipletests(p, method="holm")[1], strict=True))
    for key, row in table.iterrows():
        x, base = final[key], final[key[0], "base"]
        assert (row["n"], row["planned"]) == (RUNS, RUNS)
        assert row["mean"] == pytest.approx(x.mean(), rel=1e-12)
        assert row["std"] == pytest.approx(pd.Series(x).std(), rel=1e-12)
        assert row["median"] == pytest.approx(np.median(x), rel=1e-12)
        assert row["iqm"] == pytest.approx(stats.trim_mean(x, 0.25), rel=1e-12)
        if key in adjusted:
            assert row["improvement_pct"] == pytest.approx(100 * (x.mean() / base.mean() - 1), rel=1e-9)
            assert row["p_holm"] == pytest.approx(adjusted[key], rel=1e-8)
        else:
            assert pd.isna(row["p_holm"])


def test_pairs(folders, final):
    table = read(folders, "tests")
    assert len(table) == 4
    for _, row in table.iterrows():
        x, y = final[row["env"], row["algorithm"]], final[row["env"], row["against"]]
        both = weightstats.CompareMeans(weightstats.DescrStatsW(x), weightstats.DescrStatsW(y))
        assert row["difference"] == pytest.approx(x.mean() - y.mean())
        interval = both.tconfint_diff(usevar="unequal")
        assert (row["difference_low"], row["difference_high"]) == pytest.approx(interval)
        assert row["p_welch"] == pytest.approx(both.ttest_ind(usevar="unequal")[1], rel=1e-8)
        assert row["probability_better"] == pytest.approx(stats.mannwhitneyu(x, y).statistic / RUNS**2)
        assert (row["iqm"], row["iqm_against"]) == pytest.approx((stats.trim_mean(x, 0.25), stats.trim_mean(y, 0.25)))
        # With the pooled spread of as many runs a side; Welch's degrees of freedom are fewer, so a little more power.
        pooled = np.sqrt((x.var(ddof=1) + y.var(ddof=1)) / 2)
        power = TTestIndPower().power(row["detectable_difference"] / pooled, RUNS, 0.05 / len(table))
        assert 0.8 - 1e-6 <= power < 0.95
    assert table["p_holm"].to_numpy() == pytest.approx(multipletests(table["p_welch"], method="holm")[1])


def test_aggregate_beside_rliable(folders, final):
    table = read(folders, "aggregate").set_index("name")
    scores = {name: np.stack([final[env, name] for env in FINAL], axis=1) for name in ("base", "better", "same")}
    scale = pd.read_csv(files("erlbench.reporting") / "normalisation.csv").set_index("env").loc[list(FINAL)]
    random, reference = scale["random"].to_numpy(), scale["reference"].to_numpy()
    for name, row in table.iterrows():
        assert row["runs"] == 2 * RUNS
        assert row["iqm"] == pytest.approx(metrics.aggregate_iqm((scores[name] - random) / (reference - random)))
        assert row["iqm_low"] < row["iqm"] < row["iqm_high"]
        if name != "base":
            expected = metrics.probability_of_improvement(scores[name], scores["base"])
            assert row["probability_of_improvement"] == pytest.approx(expected)
            assert row["probability_low"] <= expected <= row["probability_high"]


def test_metrics(folders, raw, final):
    table = read(folders, "metrics").set_index(["env", "name"])
    for key, row in table.iterrows():
        runs = [run for _, run in raw[(raw["env"] == key[0]) & (raw["name"] == key[1])].groupby("seed")]
        x = final[key]
        areas = [
            sum((b - a) * (u + v) / 2 for (a, u), (b, v) in pairwise(zip(run["timesteps"], run["return_mean"])))
            / (run["timesteps"].iloc[-1] - run["timesteps"].iloc[0])
            for run in runs
        ]
        assert (row["area_mean"], row["area_std"]) == pytest.approx((np.mean(areas), np.std(areas, ddof=1)))
        last_ten = [run["return_mean"].tail(10).mean() for run in runs]
        assert row["final_10_mean"] == pytest.approx(np.mean(last_ten))
        assert row["final_10_std"] == pytest.approx(np.std(last_ten, ddof=1))
        assert row["max_of_average"] == pytest.approx(np.mean([run["return_mean"] for run in runs], axis=0).max())
        assert row["fitness_timesteps_mean"] == pytest.approx(
            np.mean([run["fitness_timesteps"].iloc[-1] for run in runs])
        )
        interval = stats.t.interval(0.95, RUNS - 1, x.mean(), stats.sem(x))
        assert (row["final_low"], row["final_high"]) == pytest.approx(interval)
        # Two-sided tolerance factor for n = 6, 90 % of runs, 95 % confidence, as tabulated (Howe): 3.712
        assert (row["tolerance_high"] - x.mean()) / x.std(ddof=1) == pytest.approx(3.712, abs=2e-3)


def test_minutes(folders, raw):
    table = read(folders, "times").set_index(["env", "name"])
    for key, row in table.iterrows():
        runs = [run for _, run in raw[(raw["env"] == key[0]) & (raw["name"] == key[1])].groupby("seed")]
        whole = [run["train_time_s"].iloc[-1] / 60 / run["timesteps"].iloc[-1] * 1e6 for run in runs]
        assert row["whole_min_per_million"] == pytest.approx(np.mean(whole))
        assert row["whole_std"] == pytest.approx(np.std(whole, ddof=1))
        learning = [run[run["critic_updates"] > 0].iloc[[0, -1]] for run in runs]
        slopes = [np.ptp(run["train_time_s"]) / 60 / np.ptp(run["timesteps"]) * 1e6 for run in learning]
        assert row["after_warmup_min_per_million"] == pytest.approx(np.mean(slopes))
