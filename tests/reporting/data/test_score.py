"""One comparison has one score: the curve's mean over the same stretch, or the final evaluation for all."""

from __future__ import annotations

from itertools import product

import pandas as pd
import pytest

from erlbench.experiment.study import Profile
from erlbench.reporting.options import ReportOptions
from erlbench.reporting.page_cells import everything, score_page, scores_at_equal_steps
from erlbench.reporting.runs import find_runs
from erlbench.reporting.score import AUTO, CURVE, FINAL
from tests.reporting.compare import page_of, pairs_of, read, write_report
from tests.reporting.make_runs import make_cells, make_run
from tests.reporting.make_studies import make_study


def scores(folder, **options):
    page = score_page(everything(find_runs([folder], lambda _: None)), **options)
    return {(group.env, cell.name): cell for group in page.groups for cell in group.cells}


def test_a_rising_last_evaluation_is_no_score(tmp_path):
    """Two algorithms whose curves are equal but for the final evaluation, which one of them has high."""
    make_cells(tmp_path, "Ant-v5", {"cem": [10], "td3": [1000]}, before=range(10))
    cells = scores(tmp_path)
    cem, td3 = cells["Ant-v5", "cem"], cells["Ant-v5", "td3"]
    assert cem.scores.tolist() == td3.scores.tolist() == [pytest.approx(8.0)]  # from 7,000 to 9,000 steps
    assert (cem.metric, str(cem.stretch)) == (CURVE, "from 7,000 to 9,000 training steps")
    assert scores(tmp_path, metric=FINAL)["Ant-v5", "td3"].scores.tolist() == [1000]


def test_a_run_without_the_curve_makes_all_of_its_comparison_final_and_no_other(tmp_path):
    for env, returns, steps in (("Ant-v5", [0, 50], [0, 10_000]), ("Hopper-v5", [5] * 11, None)):
        make_run(tmp_path, env, "cem", 0, list(range(11)))
        make_run(tmp_path, env, "td3", 0, returns, steps=steps)
    cells = scores(tmp_path)
    kinds = {"Ant-v5": FINAL, "Hopper-v5": CURVE}
    assert {key: cell.metric for key, cell in cells.items()} == {
        (env, name): kinds[env] for env in kinds for name in ("cem", "td3")
    }
    assert cells["Ant-v5", "cem"].scores.tolist() == [10]


def test_the_stretch_ends_where_the_first_curve_does_and_not_before_three_quarters(tmp_path):
    make_run(tmp_path, "Ant-v5", "cem", 0, list(range(21)), total=20_000)
    sparse = [0, 4000, 8000, 12_000, 16_000, 20_000]
    make_run(tmp_path, "Ant-v5", "esac", 0, list(range(6)), steps=sparse)
    stretch = scores(tmp_path)["Ant-v5", "cem"].stretch
    assert (stretch.start, stretch.end) == (12_000, 16_000)
    make_run(tmp_path, "Ant-v5", "td3", 0, list(range(5)), steps=[0, 3000, 10_000, 14_000, 20_000])
    assert scores(tmp_path)["Ant-v5", "cem"].metric == FINAL


def test_with_all_simulator_steps_counted_the_curve_is_read_over_them(tmp_path):
    make_run(tmp_path, "Ant-v5", "aes-rl", 0, list(range(11)), fitness=1)
    counted = scores_at_equal_steps(scores(tmp_path)["Ant-v5", "aes-rl"], 10_000)
    assert counted.tolist() == [pytest.approx(4.0)]  # of 3,500 to 4,500 training steps


def test_studies_of_papers_keep_the_final_evaluation_and_each_table_names_its_score(tmp_path):
    make_cells(tmp_path / "runs", "HalfCheetah-v5", {"cem-rl": [10, 10], "aes-rl": [10, 10]}, before=range(10))
    study = make_study(profiles={"short": Profile((0, 1), 10_000, ("HalfCheetah-v5",))})
    out = write_report(tmp_path / "runs", studies={"study": study})
    assert "final evaluation" in read(out / "study" / "index.md")
    page = read(out / "all-runs" / "index.md")
    assert "Mean of the evaluation curve from 7,000 to 9,000 training steps" in page
    assert "means of these curves from 7,000 to 9,000" in page  # the figure
    assert set(pd.read_csv(out / "all-runs" / "scores.csv")["mean"]) == {8}
    assert ReportOptions().metric == AUTO


def test_a_score_that_runs_do_not_have(tmp_path):
    """A run with fewer than ten evaluations is done, but has no mean of the last ten."""
    make_cells(tmp_path / "runs", "Hopper-v5", {"a": range(5), "b": range(5, 10)}, before=range(4), total=20_000)
    for metric in ("success", "final-10"):
        told = []
        write_report(tmp_path / "runs", told.append, metric=metric)
        assert [text for text in told if metric in text] == [f"--metric {metric}: no finished run has such a score"]
    for name, seed in product("ab", (5, 6)):
        make_run(tmp_path / "runs", "Hopper-v5", name, seed, range(12), total=20_000)
    (pair,) = pairs_of(page_of(tmp_path / "runs", metric="final-10"))
    assert (pair.n, pair.n_against, pair.case) == (2, 2, "too few")
