"""One comparison has one score: the curve's mean over the same stretch, or the final evaluation for all."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from erlbench.experiment.study import Profile
from erlbench.reporting import build_report
from erlbench.reporting.options import ReportOptions
from erlbench.reporting.page_cells import everything, score_page, scores_at_equal_steps
from erlbench.reporting.runs import find_runs
from erlbench.reporting.score import AUTO, CURVE, FINAL
from tests.reporting.make_runs import make_run
from tests.reporting.make_studies import make_study


def scores(folder, **options):
    page = score_page(everything(find_runs([folder], lambda _: None)), **options)
    return {(group.env, one.name): one for group in page.groups for one in group.cells}


def test_a_rising_last_evaluation_is_no_score(tmp_path):
    """Two algorithms whose curves are equal but for the final evaluation, which one of them has high."""
    curve = list(range(10))
    make_run(tmp_path, "Ant-v5", "cem", 0, [*curve, 10])
    make_run(tmp_path, "Ant-v5", "td3", 0, [*curve, 1000])
    found = scores(tmp_path)
    cem, td3 = found["Ant-v5", "cem"], found["Ant-v5", "td3"]
    assert cem.scores.tolist() == td3.scores.tolist() == [pytest.approx(8.0)]  # from 7,000 to 9,000 steps
    assert (cem.metric, str(cem.stretch)) == (CURVE, "from 7,000 to 9,000 training steps")
    assert scores(tmp_path, metric=FINAL)["Ant-v5", "td3"].scores.tolist() == [1000]


def test_a_run_without_the_curve_makes_all_of_its_comparison_final_and_no_other(tmp_path):
    for env in ("Ant-v5", "Hopper-v5"):
        make_run(tmp_path, env, "cem", 0, list(range(11)))
        few = env == "Ant-v5"
        make_run(tmp_path, env, "td3", 0, [0, 50] if few else [5] * 11, steps=[0, 10_000] if few else None)
    found = scores(tmp_path)
    assert {key: one.metric for key, one in found.items()} == {
        ("Ant-v5", "cem"): FINAL, ("Ant-v5", "td3"): FINAL, ("Hopper-v5", "cem"): CURVE, ("Hopper-v5", "td3"): CURVE,
    }  # fmt: skip
    assert found["Ant-v5", "cem"].scores.tolist() == [10]


def test_the_stretch_ends_where_the_first_curve_does_and_not_before_three_quarters(tmp_path):
    make_run(tmp_path, "Ant-v5", "cem", 0, list(range(21)), total=20_000)
    sparse = [0, 4000, 8000, 12_000, 16_000, 20_000]
    make_run(tmp_path, "Ant-v5", "esac", 0, list(range(6)), steps=sparse)
    found = scores(tmp_path)["Ant-v5", "cem"]
    assert (found.stretch.start, found.stretch.end) == (12_000, 16_000)
    make_run(tmp_path, "Ant-v5", "td3", 0, list(range(5)), steps=[0, 3000, 10_000, 14_000, 20_000])
    assert scores(tmp_path)["Ant-v5", "cem"].metric == FINAL


def test_with_all_simulator_steps_counted_the_curve_is_read_over_them(tmp_path):
    make_run(tmp_path, "Ant-v5", "aes-rl", 0, list(range(11)), fitness=1)
    make_run(tmp_path, "Ant-v5", "cem", 0, list(range(11)))
    counted = scores_at_equal_steps(scores(tmp_path)["Ant-v5", "aes-rl"], 10_000)
    assert counted.tolist() == [pytest.approx(4.0)]  # of 3,500 to 4,500 training steps


def test_studies_of_papers_keep_the_final_evaluation_and_each_table_names_its_score(tmp_path):
    for seed in range(2):
        for name in ("cem-rl", "aes-rl"):
            make_run(tmp_path / "runs", "HalfCheetah-v5", name, seed, list(np.arange(11.0)))
    study = make_study(profiles={"short": Profile((0, 1), 10_000, ("HalfCheetah-v5",))})
    out = tmp_path / "out"
    build_report([tmp_path / "runs"], out, {"study": study}, None, lambda _: None)
    of_study, of_all = (out / name / "index.md" for name in ("study", "all-runs"))
    assert "final evaluation" in of_study.read_text()
    assert "Mean of the evaluation curve from 7,000 to 9,000 training steps" in of_all.read_text()
    assert "means of these curves from 7,000 to 9,000" in of_all.read_text()  # the figure
    assert set(pd.read_csv(out / "all-runs" / "scores.csv")["mean"]) == {8}
    assert ReportOptions().metric == AUTO


@pytest.mark.parametrize("metric", ["success", "final-10"])
def test_a_score_that_no_run_has_is_named(metric, tmp_path):
    make_run(tmp_path / "runs", "HalfCheetah-v5", "cem", 0, [0.0, 1.0])
    told = []
    build_report([tmp_path / "runs"], tmp_path / "out", {}, None, told.append, ReportOptions(metric=metric))
    assert [text for text in told if metric in text] == [f"--metric {metric}: no finished run has such a score"]
