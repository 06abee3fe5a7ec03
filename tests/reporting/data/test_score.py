"""One comparison has one score: the curve's mean over the same stretch, the final evaluation, or that at a moment."""

import math

import pandas as pd
import pytest

from erlbench.errors import UsageError
from erlbench.experiment.study import Profile
from erlbench.reporting.pairs import compare_pairs
from erlbench.reporting.runs import find_runs
from erlbench.reporting.score import CURVE, FINAL, Moment, cut_runs
from erlbench.reporting.significance import Case
from tests.files import edit, edit_json, edit_rows
from tests.reporting.compare import page_of, pairs_of, read, write_report
from tests.reporting.make_runs import make_cells, make_run
from tests.reporting.make_studies import make_study

ENV = "Ant-v5"


def scores(folder, **options):
    page = page_of(folder, warn=lambda _: None, **options)
    return {(group.env, cell.name): cell for group in page.groups for cell in group.cells}


def test_a_rising_last_evaluation_is_no_score(tmp_path):
    """Two algorithms whose curves are equal but for the final evaluation, which one of them has high."""
    make_cells(tmp_path, ENV, {"cem": [10], "td3": [1000]}, before=range(10))
    cem, td3 = scores(tmp_path).values()
    assert cem.scores.tolist() == td3.scores.tolist() == [pytest.approx(8.0)]  # from 7,000 to 9,000 steps
    assert cem.metric == CURVE
    assert str(cem.stretch) == "from 7,000 to 9,000 training steps"
    assert scores(tmp_path, metric=FINAL)[ENV, "td3"].scores.tolist() == [1000]


def test_a_run_without_the_curve_makes_all_of_its_comparison_final_and_no_other(tmp_path):
    for env, returns, steps in ((ENV, [0, 50], [0, 10_000]), ("Hopper-v5", [5] * 11, None)):
        make_run(tmp_path, env, "cem", 0, range(11))
        make_run(tmp_path, env, "td3", 0, returns, steps=steps)
    cells = scores(tmp_path)
    assert [(env, cell.metric) for (env, _), cell in cells.items()] == [(ENV, FINAL)] * 2 + [("Hopper-v5", CURVE)] * 2
    assert cells[ENV, "cem"].scores.tolist() == [10]


def test_the_stretch_ends_where_the_first_curve_does_and_not_before_three_quarters(tmp_path):
    make_run(tmp_path, ENV, "cem", 0, range(21), total=20_000)
    make_run(tmp_path, ENV, "esac", 0, range(6), steps=[0, 4000, 8000, 12_000, 16_000, 20_000])
    stretch = scores(tmp_path)[ENV, "cem"].stretch
    assert (stretch.start, stretch.end) == (12_000, 16_000)
    make_run(tmp_path, ENV, "td3", 0, range(5), steps=[0, 3000, 10_000, 14_000, 20_000])
    assert scores(tmp_path)[ENV, "cem"].metric == FINAL


def test_studies_of_papers_keep_the_final_evaluation_and_each_table_names_its_score(tmp_path):
    make_cells(tmp_path / "runs", "HalfCheetah-v5", {"cem-rl": [10, 10], "aes-rl": [10, 10]}, before=range(10))
    study = make_study(profiles={"short": Profile((0, 1), 10_000, ("HalfCheetah-v5",))})
    out = write_report(tmp_path / "runs", studies={"study": study})
    assert "final evaluation" in read(out / "study/index.md")
    page = read(out / "all-runs/index.md")
    assert "Mean of the evaluation curve from 7,000 to 9,000 training steps" in page
    assert set(pd.read_csv(out / "all-runs/scores.csv")["mean"]) == {8}


def test_a_score_that_no_run_has_is_told(tmp_path):
    """A run with fewer than ten evaluations is done, but has no mean of the last ten."""
    make_cells(tmp_path / "runs", ENV, {"a": range(5), "b": range(5, 10)}, before=range(4), total=20_000)
    for metric in ("success", "final-10"):
        told = []
        write_report(tmp_path / "runs", told.append, metric=metric)
        assert [text for text in told if metric in text] == [f"--metric {metric}: no finished run has such a score"]


def cut(folder, value):
    """The runs at a moment, and what was said without the paths before the seeds."""
    warnings = []
    runs = cut_runs(find_runs([folder], lambda _: None), Moment(value), warnings.append)
    return list(runs.itertuples()), [warning.partition("seed-00")[2] for warning in warnings]


def test_runs_of_different_budgets_are_compared_after_the_same_steps(tmp_path):
    """At 2,000: a run that ends there, a longer one, and two with evaluations on both sides, of which the later counts
    if both are as near."""
    make_run(tmp_path, ENV, "aes-rl", 0, [0, 6, 7], steps=[0, 1900, 2100])
    make_run(tmp_path, ENV, "cem", 0, [0, 1, 2])
    make_run(tmp_path, ENV, "erl", 0, [0, 3, 4, 5], steps=[0, 1900, 2080, 9000], status="failed")
    make_run(tmp_path, ENV, "td3", 0, [0, 10, 20, 30, 40], generations=7, seconds_per_step=0.5)
    runs, warnings = cut(tmp_path, 2000)
    assert [list(run.evaluations.return_mean) for run in runs] == [[0, 6, 7], [0, 1, 2], [0, 3, 4], [0, 10, 20]]
    assert {(run.total_timesteps, run.total_generations, run.status) for run in runs} == {(2000, 0, "done")}
    assert [run.timesteps for run in runs] == [2100, 2000, 2080, 2000]
    assert runs[-1].train_time_s == 1000
    assert warnings == []


def test_a_run_does_not_count_before_its_first_gradient_step(tmp_path):
    for name, warmup in (("td3", 2500), ("sac", 1500), ("cem", 4000)):  # cem never makes one
        make_run(tmp_path, ENV, name, 0, range(5), warmup=warmup)
    runs, warnings = cut(tmp_path, 2000)
    assert {run.name: run.done for run in runs} == {"cem": True, "sac": True, "td3": False}
    assert len(warnings) == 1


def test_minutes_of_a_curve_have_no_pauses(tmp_path):
    """A thousand steps take a minute; the second run stood still for another one before them."""
    make_run(tmp_path, ENV, "cem", 0, range(21), seconds_per_step=0.06)
    path = make_run(tmp_path, ENV, "cem", 1, range(21), seconds_per_step=0.06) / "eval.csv"
    edit_rows(path, train_time_s=[0, *range(120, 1261, 60)], paused_s=[0, *[60] * 20])
    (cell,) = page_of(tmp_path, at=Moment(10, minutes=True)).rows
    assert cell.scores.tolist() == [pytest.approx(9.0)] * 2  # from 8 to 10 minutes
    assert str(cell.stretch) == "from 8.00 to 10.0 minutes"
    assert str(Moment(0.25, minutes=True)) == "0.25 training minutes"


def test_a_run_that_never_counts_does_not_count_at_a_moment(tmp_path):
    make_run(tmp_path, ENV, "td3", 0, [0, 1])
    make_run(tmp_path, ENV, "td3", 1, [0, 900], warmup=5000)
    edit_json(make_run(tmp_path, ENV, "td3", 2, [0, 900]) / "status.json", files={"eval.csv": "1:00000000"})
    make_run(tmp_path, ENV, "td3", 3, [], status="failed", total=1000)
    out = write_report(tmp_path, out=tmp_path / "out", at=Moment(1000))
    (row,) = pd.read_csv(out / "all-runs/scores.csv").to_dict("records")
    assert row["mean"] == 1
    assert row["n"] == 1
    assert all(
        f"seed {seed} {status}" in row["status"] for seed, status in ((1, "done, never"), (2, "altered"), (3, "failed"))
    )
    assert "nearest evaluations: 1,000 to 1,000" in read(out / "all-runs/index.md")


def test_a_run_without_a_whole_evaluation_near_the_steps_is_left_out(tmp_path):
    make_run(tmp_path, ENV, "cem", 0, [0, 1], steps=[0, 2200])
    make_run(tmp_path, ENV, "cem", 1, [0, 1, 2], steps=[0, 1799, 2201])
    make_run(tmp_path, ENV, "cem", 2, [], status="running")
    edit(make_run(tmp_path, ENV, "cem", 3, [0, 1, 2]) / "eval.csv", "1.0 3.0", "1.0 9.0")
    runs, warnings = cut(tmp_path, 2000)
    far = "no evaluation within 10% of 2,000 training steps; left out"
    damaged = "the last row of eval.csv is damaged: return_mean is 2, but its returns have the mean 5; left out"
    assert [run.seed for run in runs] == [0]
    assert warnings == [f"1: {far}", f"2: {far}", f"3: {damaged}"]
    assert [run.seed for run in cut(tmp_path, 1000)[0]] == [3]  # the evaluations before it are whole
    with pytest.raises(UsageError, match=r"--at: no run has an evaluation within 10% of 5,000 training steps"):
        cut(tmp_path, 5000)


def test_runs_that_failed_before_the_moment_stay_failed(tmp_path):
    make_cells(tmp_path, ENV, {"a": range(6), "b": range(20, 26)}, before=range(4))
    failed = {"status": "failed", "total": 4000}
    make_run(tmp_path, ENV, "b", 6, [0, 1], **failed)  # no evaluation at the moment
    make_run(tmp_path, ENV, "b", 7, [0, 1, 2, 3, 4], **failed)  # it failed later
    make_run(tmp_path, "Hopper-v5", "a", 0, [0, 1], status="running", total=4000)
    make_run(tmp_path, "Hopper-v5", "a", 1, [0, 1], **failed)
    runs, told = cut(tmp_path, 4000)
    assert [(run.name, run.seed) for run in runs if not run.done] == [("b", 6), ("a", 1)]
    assert len(told) == 1
    assert told[0].startswith("0: no evaluation")


def test_a_seed_without_such_a_score_makes_its_pair_not_comparable(tmp_path):
    """Its mean of ten evaluations is unknown, and might be the lowest."""
    for seed in range(7):
        make_run(tmp_path, ENV, "a", seed, [*range(seed, seed + 10)])
        steps = range(0, 10_000, 1000) if seed else (*range(0, 8000, 1000), 9000)
        make_run(tmp_path, ENV, "b", seed, [90] * len(steps), steps=steps)
    (pair,) = pairs_of(page_of(tmp_path, metric="final-10"))
    assert pair.case == Case.NOT_COMPARABLE
    assert len(pair.second.scores) == 6
    assert "1 of 7 seeds" in pair.reason


def test_pairs_that_are_not_comparable_are_not_tested(tmp_path):
    """They share no level, as in studies: the one p is not corrected."""
    make_cells(tmp_path, ENV, {"a": range(6), "b": range(20, 26), "c": range(40, 46)}, before=range(4))
    make_run(tmp_path, ENV, "c", 6, [0, 1], total=4000, status="failed")
    pairs = compare_pairs(page_of(tmp_path))
    assert pairs.case.tolist() == [Case.DECIDED, Case.NOT_COMPARABLE, Case.NOT_COMPARABLE]
    assert {*pairs.tests} == {1}
    assert pairs.p_holm[0] == pytest.approx(2 / math.comb(12, 6))
    assert pairs[["p_rank", "p_holm"]][1:].isna().all(axis=None)


def test_episodes_and_successes_are_those_of_the_evaluation_at_the_moment(tmp_path):
    """Successes are kept of the last evaluation only, so a run that is cut before it has none."""
    run = make_run(tmp_path, ENV, "cem", 0, [0, 1, 2])
    edit(run / "config.toml", "eval_episodes = 2\n", "eval_episodes = 2\nfinal_episodes = 50\n")
    edit_rows(run / "eval.csv", success=["", "", "1 1"])
    for moment, episodes, successes in ((1000, "2", ()), (2000, "50", (1, 1))):
        ((row,), _) = cut(tmp_path, moment)
        assert row.final_episodes == episodes
        assert row.last_success == successes
