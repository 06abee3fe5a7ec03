"""Seeds with several runs: tables and figures count seeds and runs, and a standard deviation is one of single runs."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from erlbench.cli import cli
from erlbench.reporting.cells import sample_words, single_run_std
from erlbench.reporting.figures import columns_of_train, environments_grid
from erlbench.reporting.options import PaperStyle, ReportOptions, parse_panels
from erlbench.reporting.statistics import band_words
from tests.reporting.compare import curves_of, means_of, page_of
from tests.reporting.data.test_cells import edited
from tests.reporting.make_runs import make_run

KERNELS = ("Haswell", "SkylakeX")
RETURNS = {  # of the final evaluations: by seed and kernel
    ("cem-rl", 0): (10.0, 30.0),
    ("cem-rl", 1): (20.0, 60.0),
    ("cem-rl", 2): (40.0, 20.0),
    ("td3", 0): (18.0,),
    ("td3", 1): (25.0,),
    ("td3", 2): (22.0,),
}


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    folder = tmp_path_factory.mktemp("raw")
    for (name, seed), scores in RETURNS.items():
        for kernel, score in zip(KERNELS, scores, strict=False):
            edited(make_run(folder / kernel, "Ant-v5", name, seed, [0, score / 2, score]), arithmetic=kernel)
    return folder


@pytest.fixture(scope="module")
def report(raw, tmp_path_factory):
    out = tmp_path_factory.mktemp("report")
    done = CliRunner().invoke(cli, ["report", str(raw), "--metric", "final", "--paper", "--out", str(out)])
    assert done.exit_code == 0, done.output
    return out / "all-runs"


def expected(name):
    """Mean and standard deviation of a single run, by pandas: variance between seeds and within them."""
    rows = pd.DataFrame(
        [(seed, score) for (one, seed), scores in RETURNS.items() if one == name for score in scores],
        columns=["seed", "score"],
    )
    seeds = rows.groupby("seed").score
    return seeds.mean().mean(), math.sqrt(seeds.mean().var() + seeds.var(ddof=0).mean())


def test_the_standard_deviation_is_that_of_a_single_run_whether_or_not_runs_of_a_seed_are_alike():
    """Its square is right on average for any share of the variance between seeds, and for unequal numbers of runs."""
    rng = np.random.default_rng(3)
    for between, within in ((0.0, 4.0), (4.0, 0.0), (1.0, 3.0)):
        squares = [
            single_run_std([rng.normal(rng.normal(0, between**0.5), within**0.5, size=n) for n in (1, 2, 2, 5)]) ** 2
            for _ in range(4000)
        ]
        assert np.mean(squares) == pytest.approx(4.0, rel=0.08)


def test_with_one_run_a_seed_it_is_the_sample_standard_deviation():
    values = np.random.default_rng(1).normal(size=7)
    assert single_run_std([np.array([value]) for value in values]) == np.std(values, ddof=1)
    assert math.isnan(single_run_std([np.array([1.0, 5.0])]))  # nothing is known between seeds
    assert math.isnan(single_run_std([]))


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ((1, 1), "1 run"),
        ((3, 3), "3 runs"),
        ((3, 6), "3 seeds, 6 runs"),
        ((1, 2), "1 seed, 2 runs"),
        ((3, 3, 3), "3 runs"),
        ((2, 2, 3), "2 of 3 runs"),
        ((2, 4, 3), "2 of 3 seeds, 4 runs"),
    ],
)
def test_seeds_and_runs_are_both_counted_where_they_differ(counts, words):
    assert sample_words(*counts) == words


@pytest.mark.parametrize("name", ["cem-rl", "td3"])
def test_tables_have_the_counts_and_the_spread_of_single_runs(report, name):
    mean, std = expected(name)
    several = 2 if name == "cem-rl" else 1
    for table, columns in (("scores", ("mean", "std")), ("metrics", ("final_mean", "final_std"))):
        row = pd.read_csv(report / f"{table}.csv").set_index("name").loc[name]
        assert (row["n"], row["runs"]) == (3, 3 * several), table
        assert [row[column] for column in columns] == pytest.approx([mean, std]), table
    assert pd.read_csv(report / "metrics.csv").set_index("name").relative_std[name] == pytest.approx(std / mean)
    cell = pd.read_csv(report / "paper-table.csv", index_col=0).loc[name]
    assert [cell["Ant-v5_value"], cell["Ant-v5_std"]] == pytest.approx([mean, std])
    assert (cell["Ant-v5_n"], cell["Ant-v5_runs"]) == (3, 3 * several)


def test_legends_count_both_and_the_band_holds_all_runs(raw):
    """The band is said to reach from the lowest to the highest run, so no thin line leaves it."""
    page = page_of(raw, metric="final")
    (group,) = page.groups
    figure = curves_of(page, group)
    means = means_of(figure)
    assert [*means] == ["cem-rl (3 seeds, 6 runs)", "td3 (3 runs)"]
    mean = means["cem-rl (3 seeds, 6 runs)"]
    ends = [y[-1] for _, _, y in mean.runs]
    assert len(ends) == 6
    assert (mean.low[-1], mean.high[-1]) == (min(ends), max(ends)) == (10, 60)
    assert mean.y[-1] == pytest.approx(30)
    grid = environments_grid(page, [(group, figure)], PaperStyle())
    assert grid.data.set_index("label").high["cem-rl"][-1] == 60


def test_columns_of_train_csv_average_seeds(raw):
    page = page_of(raw, metric="final")
    (group,) = page.groups
    for place in raw.rglob("seed-*"):
        first = KERNELS[0] in place.parts
        if place.name == "seed-000" and not first:
            continue  # this run has no such column
        score = 5 if first else 1
        file = place / "train.csv"
        header, *rows = file.read_text().splitlines()
        if not header.endswith(",sigma"):
            file.write_text("\n".join([f"{header},sigma", *(f"{row},{score}" for row in rows)]) + "\n")
    figure = columns_of_train(page, group, ReportOptions(columns=parse_panels("sigma")), pytest.fail)
    last = next(own for label, own in means_of(figure, "sigma").items() if label.startswith("cem-rl"))
    assert last.y[-1] == pytest.approx((5 + 3 + 3) / 3)
    assert (last.low[-1], last.high[-1]) == (1, 5)
    assert band_words("range") in figure.caption[0]  # no interval of three seeds
