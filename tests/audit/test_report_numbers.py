"""Scores, tests, metrics and minutes of a synthetic report, computed again from the raw files.

By pandas, SciPy, statsmodels and rliable only: nothing here calls the report's code but the command itself.
"""

import json
from importlib.resources import files
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats import weightstats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestIndPower

from tests.audit.verdict_rates import rank_p
from tests.programs import needed_module
from tests.reporting.compare import run_report
from tests.reporting.make_runs import make_run

LEVELS = {  # of the synthetic runs
    "Hopper-v5": {"base": 1000, "better": 1600, "same": 1010},
    "Swimmer-v5": {"base": 50, "better": 65, "same": 49},
}
BASELINE = "base"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Tables of the page with all runs, and by environment and name the runs' folders, evaluations and last returns."""
    raw, out = tmp_path_factory.mktemp("raw"), tmp_path_factory.mktemp("report")
    make_synthetic(raw)
    run_report(raw, "--baseline", BASELINE, "--metric", "final", "--out", out)
    runs = {}
    for path in sorted(path.parent for path in raw.rglob("eval.csv")):
        runs.setdefault(path.parts[-3:-1], []).append(path)
    evaluations = {key: [pd.read_csv(path / "eval.csv") for path in paths] for key, paths in runs.items()}
    tables = {path.stem: pd.read_csv(path) for path in (out / "all-runs").glob("*.csv")}
    final = {key: np.array([rows["return_mean"].iloc[-1] for rows in frames]) for key, frames in evaluations.items()}
    return SimpleNamespace(tables=tables, runs=runs, evaluations=evaluations, final=final)


def make_synthetic(raw):
    rng = np.random.default_rng(0)
    for env, levels in LEVELS.items():
        for name, level in levels.items():
            for seed in range(10):
                curve = level * (1 - np.exp(-np.linspace(0, 4, 13))) * (1 + 0.1 * rng.normal(size=13))
                make_run(raw, env, name, seed, curve, seconds_per_step=0.01 + 0.001 * seed, warmup=2000)


def rows(report, table):
    return report.tables[table].set_index(["env", "name"]).iterrows()


def test_scores_are_those_of_pandas_and_scipy(report):
    final, p, printed = report.final, [], []
    for key, row in rows(report, "scores"):
        x, base = final[key], final[key[0], BASELINE]
        assert row["n"] == len(x) >= 10
        located = x.mean(), pd.Series(x).std(), np.median(x), stats.trim_mean(x, 0.25)
        assert row[["mean", "std", "median", "iqm"]].tolist() == pytest.approx(located, rel=1e-12)
        last = pd.DataFrame([evaluations.iloc[-1] for evaluations in report.evaluations[key]])
        for kind in ("critic", "actor"):
            per_step = (last[f"{kind}_updates"] / last["timesteps"]).mean()
            assert row[f"{kind}_updates_per_step"] == pytest.approx(per_step)
        if key[1] == BASELINE:
            assert pd.isna(row["p_holm"])
        else:
            assert row["improvement_pct"] == pytest.approx(100 * (x.mean() - base.mean()) / abs(base.mean()), rel=1e-9)
            p.append(rank_p(x[None], base[None])[0])
            printed.append(row["p_holm"])
    assert printed == pytest.approx(multipletests(p, method="holm")[1], rel=1e-8)
    assert {key for key, _ in rows(report, "scores")} == set(final)


def test_pairs_are_those_of_statsmodels(report):
    table, p = report.tables["tests"], []
    assert len(table) == sum(name != BASELINE for _, name in report.final)
    for _, row in table.iterrows():
        x, y = report.final[row["env"], row["algorithm"]], report.final[row["env"], row["against"]]
        both = weightstats.CompareMeans(weightstats.DescrStatsW(x), weightstats.DescrStatsW(y))
        difference = x.mean() - y.mean(), *both.tconfint_diff(usevar="unequal")
        assert row[["difference", "difference_low", "difference_high"]].tolist() == pytest.approx(difference)
        better = stats.mannwhitneyu(x, y).statistic / (len(x) * len(y))
        middles = better, stats.trim_mean(x, 0.25), stats.trim_mean(y, 0.25)
        assert row[["probability_better", "iqm", "iqm_against"]].tolist() == pytest.approx(middles)
        # With the pooled spread of as many runs a side; Welch's degrees of freedom are fewer, so a little more power.
        limit = np.sqrt((len(x) - 1) / stats.chi2.ppf(0.2, len(x) - 1))  # of a spread, with 80 % confidence
        pooled = limit * np.sqrt((x.var(ddof=1) + y.var(ddof=1)) / 2)
        level = 0.025 / len(table)
        power = TTestIndPower().power(row["detectable_difference"] / pooled, len(x) * 3 / np.pi, level)
        assert 0.8 - 1e-3 <= power < 0.95
        p.append(rank_p(x[None], y[None])[0])
    assert table["p_rank"].to_numpy() == pytest.approx(p)
    assert table["p_holm"].to_numpy() == pytest.approx(multipletests(p, method="holm")[1])


def test_aggregate_beside_rliable(report):
    metrics = needed_module("rliable.metrics")
    envs, names = (sorted({key[place] for key in report.final}) for place in (0, 1))
    scores = {name: np.stack([report.final[env, name] for env in envs], axis=1) for name in names}
    random = pd.read_csv(files("erlbench.reporting") / "random_scores.csv").set_index("env").random[envs].to_numpy()
    best = np.max([values.mean(axis=0) for values in scores.values()], axis=0)
    table = report.tables["aggregate"].set_index("name")
    assert set(table.index) == set(names)
    for name, row in table.iterrows():
        assert row["seeds"] == scores[name].size
        assert row["iqm"] == pytest.approx(metrics.aggregate_iqm((scores[name] - random) / (best - random)))
        assert row["iqm_low"] < row["iqm"] < row["iqm_high"]
        if name != BASELINE:
            expected = metrics.probability_of_improvement(scores[name], scores[BASELINE])
            assert row["probability_of_improvement"] == pytest.approx(expected)
            assert row["probability_low"] <= expected <= row["probability_high"]


def test_metrics_are_those_of_the_raw_files(report):
    for key, row in rows(report, "metrics"):
        frames, x, n = report.evaluations[key], report.final[key], len(report.final[key])
        curves = [(run["timesteps"].to_numpy(), run["return_mean"].to_numpy()) for run in frames]
        areas = [(np.diff(t) * (y[1:] + y[:-1]) / 2).sum() / np.ptp(t) for t, y in curves]
        last_ten = [y[-10:].mean() for _, y in curves]
        for name, values in (("area", areas), ("final_10", last_ten)):
            expected = np.mean(values), np.std(values, ddof=1)
            assert (row[f"{name}_mean"], row[f"{name}_std"]) == pytest.approx(expected)
        steps = np.unique(np.concatenate([t for t, _ in curves]))
        steps = steps[steps <= min(t[-1] for t, _ in curves)]
        assert row["max_of_average"] == pytest.approx(
            np.mean([np.interp(steps, *curve) for curve in curves], axis=0).max()
        )
        last = pd.DataFrame([run.iloc[-1] for run in frames])
        assert row["fitness_timesteps_mean"] == pytest.approx(last["fitness_timesteps"].mean())
        everything = last[["timesteps", "fitness_timesteps", "evaluation_timesteps"]].sum(axis=1)
        assert row["all_timesteps_mean"] == pytest.approx(everything.mean())
        interval = stats.t.interval(0.95, n - 1, x.mean(), stats.sem(x))
        assert (row["final_low"], row["final_high"]) == pytest.approx(interval)


def test_minutes_are_those_of_the_raw_files(report):
    for key, row in rows(report, "times"):
        whole, slopes = [], []
        for path, evaluations in zip(report.runs[key], report.evaluations[key], strict=True):
            state = json.loads((path / "status.json").read_text())
            whole.append(state["train_time_s"] / 60 / state["timesteps"] * 1e6)
            ends = evaluations[evaluations["critic_updates"] > 0].iloc[[0, -1]]
            slopes.append(np.ptp(ends["train_time_s"]) / 60 / np.ptp(ends["timesteps"]) * 1e6)
        expected = np.mean(whole), np.std(whole, ddof=1)
        names = [f"measured_whole_{name}" for name in ("min_per_million", "std")]
        assert row[names].tolist() == pytest.approx(expected)
        assert row["measured_after_warmup_min_per_million"] == pytest.approx(np.mean(slopes))
