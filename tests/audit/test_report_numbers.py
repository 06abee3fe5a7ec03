"""Every number of a synthetic and of two reference reports, computed again from the raw files by other packages.

pandas, SciPy, statsmodels and rliable only: nothing here calls the report's code but the command itself.
"""

import json
from dataclasses import dataclass
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rliable import metrics
from scipy import stats
from statsmodels.stats import weightstats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestIndPower

from tests.audit.page_numbers import REFERENCE
from tests.audit.verdict_rates import rank_p
from tests.reporting.compare import run_report
from tests.reporting.make_runs import make_run

SYNTHETIC = {
    "Hopper-v5": {"base": 1000, "better": 1600, "same": 1010},
    "Swimmer-v5": {"base": 50, "better": 65, "same": 49},
}
CASES = {  # folders, baseline
    "cem": (("cem/HalfCheetah-v5", "cem/Swimmer-v5"), "cem"),
    "td3": (("td3-vs-sb3", "td3-vs-sb3-second"), "sb3-td3"),
}


@dataclass
class Report:
    """The page with all runs, and the raw files that it was made from."""

    page: Path
    baseline: str
    runs: dict  # (environment, name) -> a list of folders, of finished runs
    evaluations: dict  # the same -> a list of frames, without rows that a later one of as many steps replaces
    final: dict  # the same -> the last returns (runs,)

    def read(self, table):
        return pd.read_csv(self.page / f"{table}.csv")

    def rows(self, table):
        return self.read(table).set_index(["env", "name"]).iterrows()


@pytest.fixture(scope="module", params=["synthetic", *(pytest.param(case, marks=pytest.mark.data) for case in CASES)])
def report(request, tmp_path_factory):
    """The report of a case."""
    folders, baseline = CASES.get(request.param, ((), "base"))
    raw, out = [REFERENCE / folder for folder in folders], tmp_path_factory.mktemp("report")
    if not raw:
        raw = [tmp_path_factory.mktemp("raw")]
        make_synthetic(raw[0])
    run_report(*raw, "--baseline", baseline, "--metric", "final", "--reach=55,900,2000", "--out", out)
    runs = {}
    for path in sorted(path.parent for folder in raw for path in folder.rglob("eval.csv")):
        if json.loads((path / "status.json").read_text())["status"] == "done":
            runs.setdefault(path.parts[-3:-1], []).append(path)
    frames = {key: [pd.read_csv(path / "eval.csv").drop_duplicates("timesteps", keep="last") for path in paths]
              for key, paths in runs.items()}  # fmt: skip
    final = {key: np.array([frame["return_mean"].iloc[-1] for frame in found]) for key, found in frames.items()}
    return Report(out / "all-runs", baseline, runs, frames, final)


def make_synthetic(raw):
    rng = np.random.default_rng(0)
    for env, levels in SYNTHETIC.items():
        for name, level in levels.items():
            for seed in range(10):
                curve = level * (1 - np.exp(-np.linspace(0, 4, 13))) * (1 + 0.1 * rng.normal(size=13))
                make_run(raw, env, name, seed, list(curve), seconds_per_step=0.01 + 0.001 * seed, warmup=2000)


def test_scores_are_those_of_pandas_and_scipy(report):
    final, table = report.final, report.read("scores").set_index(["env", "name"])
    assert set(table.index) == set(final)
    others = [key for key in table.index if key[1] != report.baseline]
    p = [rank_p(final[key][None], final[key[0], report.baseline][None])[0] for key in others]
    adjusted = dict(zip(others, multipletests(p, method="holm")[1], strict=True))
    for key, row in table.iterrows():
        x, base = final[key], final[key[0], report.baseline]
        assert row["n"] == len(x) >= 10
        assert row["mean"] == pytest.approx(x.mean(), rel=1e-12)
        assert row["std"] == pytest.approx(pd.Series(x).std(), rel=1e-12)
        assert row["median"] == pytest.approx(np.median(x), rel=1e-12)
        assert row["iqm"] == pytest.approx(stats.trim_mean(x, 0.25), rel=1e-12)
        last = [frame.iloc[-1] for frame in report.evaluations[key]]
        for kind in ("critic", "actor"):
            per_step = np.mean([row[f"{kind}_updates"] / row["timesteps"] for row in last])
            assert row[f"{kind}_updates_per_step"] == pytest.approx(per_step)
        if key in adjusted:
            assert row["improvement_pct"] == pytest.approx(100 * (x.mean() - base.mean()) / abs(base.mean()), rel=1e-9)
            assert row["p_holm"] == pytest.approx(adjusted[key], rel=1e-8)
        else:
            assert pd.isna(row["p_holm"])


def test_pairs_are_those_of_statsmodels(report):
    table, p = report.read("tests"), []
    assert len(table) == sum(name != report.baseline for _, name in report.final)
    for _, row in table.iterrows():
        x, y = report.final[row["env"], row["algorithm"]], report.final[row["env"], row["against"]]
        both = weightstats.CompareMeans(weightstats.DescrStatsW(x), weightstats.DescrStatsW(y))
        assert row["difference"] == pytest.approx(x.mean() - y.mean())
        interval = both.tconfint_diff(usevar="unequal")
        assert (row["difference_low"], row["difference_high"]) == pytest.approx(interval)
        better = stats.mannwhitneyu(x, y).statistic / (len(x) * len(y))
        assert row["probability_better"] == pytest.approx(better)
        assert (row["iqm"], row["iqm_against"]) == pytest.approx((stats.trim_mean(x, 0.25), stats.trim_mean(y, 0.25)))
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
    envs = sorted({env for env, _ in report.final})
    if len(envs) < 2:
        assert not (report.page / "aggregate.csv").exists()
        return
    table = report.read("aggregate").set_index("name")
    names = {name for _, name in report.final}
    assert set(table.index) == names
    scores = {name: np.stack([report.final[env, name] for env in envs], axis=1) for name in names}
    random = (
        pd.read_csv(files("erlbench.reporting") / "random_scores.csv").set_index("env").loc[envs, "random"].to_numpy()
    )
    reference = np.max([own.mean(axis=0) for own in scores.values()], axis=0)
    for name, row in table.iterrows():
        assert row["seeds"] == scores[name].size
        assert row["iqm"] == pytest.approx(metrics.aggregate_iqm((scores[name] - random) / (reference - random)))
        assert row["iqm_low"] < row["iqm"] < row["iqm_high"]
        if name != report.baseline:
            expected = metrics.probability_of_improvement(scores[name], scores[report.baseline])
            assert row["probability_of_improvement"] == pytest.approx(expected)
            assert row["probability_low"] <= expected <= row["probability_high"]


def test_metrics_are_those_of_the_raw_files(report):
    for key, row in report.rows("metrics"):
        frames, x = report.evaluations[key], report.final[key]
        areas = [
            sum((b - a) * (u + v) / 2 for (a, u), (b, v) in pairwise(zip(run["timesteps"], run["return_mean"])))
            / (run["timesteps"].iloc[-1] - run["timesteps"].iloc[0])
            for run in frames
        ]
        assert (row["area_mean"], row["area_std"]) == pytest.approx((np.mean(areas), np.std(areas, ddof=1)))
        last_ten = [run["return_mean"].tail(10).mean() for run in frames]
        assert row["final_10_mean"] == pytest.approx(np.mean(last_ten))
        assert row["final_10_std"] == pytest.approx(np.std(last_ten, ddof=1))
        steps = np.unique(np.concatenate([run["timesteps"] for run in frames]))
        steps = steps[steps <= min(run["timesteps"].iloc[-1] for run in frames)]
        average = np.mean([np.interp(steps, run["timesteps"], run["return_mean"]) for run in frames], axis=0)
        assert row["max_of_average"] == pytest.approx(average.max())
        last = pd.DataFrame([run.iloc[-1] for run in frames])
        assert row["fitness_timesteps_mean"] == pytest.approx(last["fitness_timesteps"].mean())
        everything = last["timesteps"] + last["fitness_timesteps"] + last["evaluation_timesteps"]
        assert row["all_timesteps_mean"] == pytest.approx(everything.mean())
        interval = stats.t.interval(0.95, len(x) - 1, x.mean(), stats.sem(x))
        assert (row["final_low"], row["final_high"]) == pytest.approx(interval)
        # Howe's two-sided tolerance factor; as tabulated it is 3.712 for n = 6, 90 % of runs, 95 % confidence
        n = len(x)
        factor = stats.norm.ppf(0.95) * np.sqrt((1 + 1 / n) * (n - 1) / stats.chi2.ppf(0.05, n - 1))
        assert n != 6 or factor == pytest.approx(3.712, abs=2e-3)
        assert (row["tolerance_high"] - x.mean()) / x.std(ddof=1) == pytest.approx(factor)


def test_minutes_are_those_of_the_raw_files(report):
    for key, row in report.rows("times"):
        states = [json.loads((path / "status.json").read_text()) for path in report.runs[key]]
        last = [run.iloc[-1] for run in report.evaluations[key]]  # where status.json does not say
        seconds = [state.get("train_time_s", run["train_time_s"]) for state, run in zip(states, last, strict=True)]
        whole = [time / 60 / state["timesteps"] * 1e6 for time, state in zip(seconds, states, strict=True)]
        assert row["measured_whole_min_per_million"] == pytest.approx(np.mean(whole))
        assert row["measured_whole_std"] == pytest.approx(np.std(whole, ddof=1))
        assert row["measured_whole_median"] == pytest.approx(np.median(whole))
        slopes = []
        for path, evaluations in zip(report.runs[key], report.evaluations[key], strict=True):
            train = pd.read_csv(path / "train.csv") if (path / "train.csv").exists() else evaluations
            learning = train[train["critic_updates"] > 0]
            if len(learning):
                ends = learning.iloc[[0, -1]]
                slopes.append(np.ptp(ends["train_time_s"]) / 60 / np.ptp(ends["timesteps"]) * 1e6)
        if slopes:
            assert row["measured_after_warmup_min_per_million"] == pytest.approx(np.mean(slopes))
        else:
            assert pd.isna(row["measured_after_warmup_min_per_million"])


def test_first_evaluations_at_a_score(report):
    """Line by line of eval.csv."""
    table = report.read("reach")
    assert len(table) == 3 * len(report.runs)
    for _, row in table.iterrows():
        steps = []
        for evaluations in report.evaluations[row["env"], row["name"]]:
            pairs = zip(evaluations["timesteps"], evaluations["return_mean"], strict=True)
            steps.append(next((step for step, value in pairs if value >= row["score"]), np.inf))
        middle = np.median(steps)
        assert (pd.isna(row["steps_median"]) and middle == np.inf) or row["steps_median"] == middle


def test_the_use_of_processes(report):
    """Busy shares and asynchrony of the run that stands for a cell, from its tasks.csv, where it has tasks."""
    for key, row in report.rows("times"):
        path = report.runs[key][0] / "tasks.csv"
        tasks = pd.read_csv(path) if path.exists() else pd.DataFrame()
        training = tasks[tasks["kind"] != "evaluation"] if len(tasks) else tasks
        if not len(training):
            assert pd.isna(row["utilisation"])
            continue
        begin, end = training["start_s"].min(), training["end_s"].max()
        meta = json.loads((path.parent / "meta.json").read_text())
        processes = max(meta["processes"], training["process"].nunique())
        here = tasks[tasks["process"].isin(training["process"])]  # with evaluations that ran on these processes
        seconds = here["end_s"].clip(begin, end) - here["start_s"].clip(begin, end)
        assert row["utilisation"] == pytest.approx(seconds.sum() / processes / (end - begin), rel=0.01)
        if "staleness" in training:
            played = training[training["timesteps"] > 0]["staleness"]
            assert row["staleness_median"] == played.median()
