"""Runs as they were after a number of training steps."""

from __future__ import annotations

import pytest

from erlbench.errors import UsageError
from erlbench.reporting.runs import find_runs
from erlbench.reporting.score import Moment, cut_runs
from tests.reporting.make_runs import make_run


def cut(folder, value, minutes=False):
    """The runs at a moment, and what was said."""
    warnings = []
    runs = find_runs([folder], lambda _: None)
    return list(cut_runs(runs, Moment(value, minutes), warnings.append).itertuples()), warnings


def edit(run, old, new, name="eval.csv"):
    text = (run / name).read_text()
    assert old in text
    (run / name).write_text(text.replace(old, new))


def test_runs_of_different_budgets_are_compared_after_the_same_steps(tmp_path):
    """At 2,000: a run that ends there, a longer one, and two with evaluations on both sides, of which the later counts
    if both are as near."""
    make_run(tmp_path, "Ant-v5", "aes-rl", 0, [0, 6, 7], steps=[0, 1900, 2100])
    make_run(tmp_path, "Ant-v5", "cem", 0, [0, 1, 2])
    make_run(tmp_path, "Ant-v5", "erl", 0, [0, 3, 4, 5], steps=[0, 1900, 2080, 9000], status="failed", message="gone")
    make_run(tmp_path, "Ant-v5", "td3", 0, [0, 10, 20, 30, 40], generations=7, seconds_per_step=0.5)
    runs, warnings = cut(tmp_path, 2000)
    assert [list(run.evaluations.return_mean) for run in runs] == [[0, 6, 7], [0, 1, 2], [0, 3, 4], [0, 10, 20]]
    assert {(run.total_timesteps, run.total_generations, run.status, run.message) for run in runs} == {
        (2000, 0, "done", "")
    }
    assert [run.timesteps for run in runs] == [2100, 2000, 2080, 2000]
    assert (runs[-1].train_time_s, warnings) == (1000, [])


def test_a_run_without_a_whole_evaluation_near_the_steps_is_left_out(tmp_path):
    make_run(tmp_path, "Ant-v5", "cem", 0, [0, 1], steps=[0, 2200])
    make_run(tmp_path, "Ant-v5", "cem", 1, [0, 1, 2], steps=[0, 1799, 2201])
    make_run(tmp_path, "Ant-v5", "cem", 2, [], status="running")
    edit(make_run(tmp_path, "Ant-v5", "cem", 3, [0, 1, 2]), "1.0 3.0", "1.0 9.0")
    runs, warnings = cut(tmp_path, 2000)
    assert [run.seed for run in runs] == [0]
    far = "no evaluation within 10% of 2,000 training steps; left out"
    damaged = "the last row of eval.csv is damaged: return_mean is 2, but its returns have the mean 5; left out"
    assert [warning.partition("seed-00")[2] for warning in warnings] == [f"1: {far}", f"2: {far}", f"3: {damaged}"]
    assert [run.seed for run in cut(tmp_path, 1000)[0]] == [3]  # the evaluations before it are whole
    with pytest.raises(UsageError, match=r"--at: no run has an evaluation within 10% of 5,000 training steps"):
        cut(tmp_path, 5000)


def test_runs_are_compared_after_the_same_minutes(tmp_path):
    """After a minute of 2,000 steps, and of 1,000; the third run has no evaluation near it."""
    for name, seed, pace in (("cem", 0, 0.03), ("td3", 0, 0.06), ("td3", 1, 0.08)):
        make_run(tmp_path, "Ant-v5", name, seed, [0, 1, 2, 3], seconds_per_step=pace)
    runs, warnings = cut(tmp_path, 1, minutes=True)
    rows = [(run.name, run.timesteps, run.total_timesteps, run.evaluations.return_mean[-1]) for run in runs]
    assert rows == [("cem", 2000, 0, 2), ("td3", 1000, 0, 1)]
    assert [warning.partition(": ")[2] for warning in warnings] == [
        "no evaluation within 10% of 1 training minute; left out"
    ]
    assert Moment(1, minutes=True).span(runs) == "1 to 1"


def test_one_seed_with_two_budgets_counts_once(tmp_path):
    first = make_run(tmp_path / "a", "Ant-v5", "cem", 0, [0, 1, 2])
    second = make_run(tmp_path / "b", "Ant-v5", "cem", 0, [0, 1, 2, 3])
    runs, (warning,) = cut(tmp_path, 2000)
    assert [run.path for run in runs] == [first]
    assert warning.startswith(f"{second}: repeats seed 0 of {first} ")


def test_episodes_and_successes_are_those_of_the_evaluation_at_the_moment(tmp_path):
    """Successes are kept of the last evaluation only, so a run that is cut before it has none."""
    run = make_run(tmp_path, "Ant-v5", "cem", 0, [0, 1, 2])
    edit(run, "eval_episodes = 2\n", "eval_episodes = 2\nfinal_episodes = 50\n", "config.toml")
    head, *rows = [line.split(",") for line in (run / "eval.csv").read_text().splitlines()]
    rows[-1][head.index("success")] = "1 1"
    (run / "eval.csv").write_text("".join(",".join(row) + "\n" for row in (head, *rows)))
    for moment, episodes, successes in ((1000, "2", ()), (2000, "50", (1, 1))):
        ((row,), _) = cut(tmp_path, moment)
        assert (row.final_episodes, row.last_success) == (episodes, successes)
