"""Seeds with several runs: tables and figures count seeds and runs, and a standard deviation is one of single runs."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from erlbench.reporting.cells import sample_words, single_run_std
from erlbench.reporting.figures import environments_grid
from erlbench.reporting.options import PaperStyle
from tests.reporting.compare import curves_of, means_of, page_of, write_report
from tests.reporting.data.test_cells import edited
from tests.reporting.make_runs import make_run

RETURNS = {"cem-rl": [(10.0, 30.0), (20.0, 60.0), (40.0, 20.0)], "td3": [(18.0,), (25.0,), (22.0,)]}  # by seed, kernel


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    folder = tmp_path_factory.mktemp("raw") / "results"
    for name, seeds in RETURNS.items():
        for seed, scores in enumerate(seeds):
            for kernel, score in zip(("Haswell", "SkylakeX"), scores, strict=False):
                run = make_run(folder / kernel, "Ant-v5", name, seed, [0, score / 2, score])
                edited(run, arithmetic=kernel)
    return folder


def test_the_standard_deviation_is_that_of_a_single_run_whether_or_not_runs_of_a_seed_are_alike():
    """Its square is right on average for any share of the variance between seeds, and for unequal numbers of runs."""
    rng = np.random.default_rng(3)
    for between, within in ((0.0, 4.0), (4.0, 0.0), (1.0, 3.0)):
        squares = [
            single_run_std([rng.normal(rng.normal(0, between**0.5), within**0.5, size=n) for n in (1, 2, 2, 5)]) ** 2
            for _ in range(4000)
        ]
        assert np.mean(squares) == pytest.approx(4.0, rel=0.08)
    values = rng.normal(size=7)
    assert single_run_std([np.array([value]) for value in values]) == np.std(values, ddof=1)
    assert math.isnan(single_run_std([np.array([1.0, 5.0])]))  # nothing is known between seeds


def test_seeds_and_runs_are_both_counted_where_they_differ():
    words = [sample_words(*counts) for counts in ((1, 1), (3, 6), (3, 3, 3), (2, 2, 3), (2, 4, 3))]
    assert words == ["1 run", "3 seeds, 6 runs", "3 runs", "2 of 3 runs", "2 of 3 seeds, 4 runs"]


def test_tables_have_the_counts_and_the_spread_of_single_runs(raw):
    report = write_report(raw, metric="final", paper=PaperStyle()) / "all-runs"
    scores, metrics, paper = (pd.read_csv(report / f"{name}.csv") for name in ("scores", "metrics", "paper-table"))
    scores, metrics, paper = scores.set_index("name"), metrics.set_index("name"), paper.set_index(paper.columns[0])
    for name, seeds in RETURNS.items():
        means, variances = [np.mean(values) for values in seeds], [np.var(values) for values in seeds]
        expected = [np.mean(means), math.sqrt(np.var(means, ddof=1) + np.mean(variances)), 3, sum(map(len, seeds))]
        assert scores.loc[name, ["mean", "std", "n", "runs"]].tolist() == pytest.approx(expected)
        assert metrics.loc[name, ["final_mean", "final_std", "n", "runs"]].tolist() == pytest.approx(expected)
        assert paper.loc[name, [f"Ant-v5_{column}" for column in ("value", "std", "n", "runs")]].tolist() == (
            pytest.approx(expected)
        )
        assert metrics.relative_std[name] == pytest.approx(expected[1] / expected[0])


def test_legends_count_both_and_the_band_holds_all_runs(raw):
    """The band is said to reach from the lowest to the highest run, so no thin line leaves it."""
    page = page_of(raw, metric="final")
    figure = curves_of(page)
    means = means_of(figure)
    assert [*means] == ["cem-rl (3 seeds, 6 runs)", "td3 (3 runs)"]
    mean = means["cem-rl (3 seeds, 6 runs)"]
    ends = [y[-1] for _, _, y in mean.runs]
    assert (len(ends), mean.y[-1]) == (6, pytest.approx(30))
    assert (mean.low[-1], mean.high[-1]) == (min(ends), max(ends)) == (10, 60)
    grid = environments_grid(page, [(page.groups[0], figure)], PaperStyle())
    assert grid.data.set_index("label").high["cem-rl"][-1] == 60
