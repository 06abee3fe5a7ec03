"""Runs as they were after a number of training steps."""

from __future__ import annotations

import pytest

from erlbench.errors import UsageError
from erlbench.reporting.runs import find_runs
from erlbench.reporting.score import Moment, cut_runs
from tests.reporting.make_runs import make_run


def cut_rows(runs, moment, warn):
    return list(cut_runs(runs, moment, warn).itertuples())


def test_runs_of_different_budgets_are_compared_after_the_same_steps(tmp_path):
    """At 2,000 steps: a run that ends there, a longer one, and one that evaluates at 1,900 and 2,080."""
    make_run(tmp_path, "Ant-v5", "cem", 0, [0, 1, 2])
    make_run(tmp_path, "Ant-v5", "td3", 0, [0, 10, 20, 30, 40], generations=7, seconds_per_step=0.5)
    make_run(tmp_path, "Ant-v5", "erl", 0, [0, 3, 4, 5], steps=[0, 1900, 2080, 9000], status="failed", message="gone")
    warnings = []
    cem, erl, td3 = cut_rows(find_runs([tmp_path], warnings.append), Moment(2000), warnings.append)
    assert [list(run.evaluations.return_mean) for run in (cem, erl, td3)] == [[0, 1, 2], [0, 3, 4], [0, 10, 20]]
    assert [(run.total_timesteps, run.total_generations, run.status, run.message) for run in (cem, erl, td3)] == [
        (2000, 0, "done", "")
    ] * 3
    assert [run.timesteps for run in (cem, erl, td3)] == [2000, 2080, 2000]
    assert td3.train_time_s == 1000
    assert not warnings


def test_a_run_without_an_evaluation_near_the_steps_is_left_out(tmp_path):
    make_run(tmp_path, "Ant-v5", "cem", 0, [0, 1], steps=[0, 2200])
    far = make_run(tmp_path, "Ant-v5", "cem", 1, [0, 1, 2], steps=[0, 1799, 2201])
    empty = make_run(tmp_path, "Ant-v5", "cem", 2, [], status="running")
    runs, warnings = find_runs([tmp_path], lambda _: None), []
    assert [run.seed for run in cut_rows(runs, Moment(2000), warnings.append)] == [0]
    assert warnings == [f"{path}: no evaluation within 10% of 2,000 training steps; left out" for path in (far, empty)]
    with pytest.raises(UsageError, match=r"--at: no run has an evaluation within 10% of 5,000 training steps"):
        cut_runs(runs, Moment(5000), warnings.append)


def test_of_two_evaluations_equally_near_the_later_counts(tmp_path):
    """A run whose last individuals end after its budget is then taken at its end, whatever the evaluation before."""
    make_run(tmp_path, "Ant-v5", "aes-rl", 0, [0, 1, 2], steps=[0, 1900, 2100])
    (run,) = cut_rows(find_runs([tmp_path], pytest.fail), Moment(2000), pytest.fail)
    assert (run.timesteps, list(run.evaluations.return_mean)) == (2100, [0, 1, 2])


def test_runs_are_compared_after_the_same_minutes(tmp_path):
    """After a minute of 2,000 steps, and of 1,000; the third run has no evaluation near it."""
    make_run(tmp_path, "Ant-v5", "cem", 0, [0, 1, 2, 3], seconds_per_step=0.03)
    make_run(tmp_path, "Ant-v5", "td3", 0, [0, 10, 20, 30], seconds_per_step=0.06)
    slow = make_run(tmp_path, "Ant-v5", "td3", 1, [0, 10, 20, 30], seconds_per_step=0.08)
    warnings = []
    runs = cut_rows(find_runs([tmp_path], warnings.append), Moment(1, minutes=True), warnings.append)
    assert [(run.name, run.timesteps, run.total_timesteps, run.evaluations.return_mean[-1]) for run in runs] == [
        ("cem", 2000, 0, 2),
        ("td3", 1000, 0, 10),
    ]
    assert warnings == [f"{slow}: no evaluation within 10% of 1 training minute; left out"]
    assert Moment(1, minutes=True).span(runs) == "1 to 1"


def test_a_damaged_last_evaluation_does_not_count(tmp_path):
    """Its mean is not that of its episodes; the evaluations before it are whole."""
    folder = make_run(tmp_path, "Ant-v5", "cem", 0, [0, 1, 2])
    path = folder / "eval.csv"
    path.write_text(path.read_text().replace("1.0 3.0", "1.0 9.0"))
    make_run(tmp_path, "Ant-v5", "cem", 1, [0, 1, 2])
    runs, warnings = find_runs([tmp_path], lambda _: None), []
    assert [run.seed for run in cut_rows(runs, Moment(2000), warnings.append)] == [1]
    problem = "return_mean is 2, but its returns have the mean 5"
    assert warnings == [f"{folder}: the last row of eval.csv is damaged: {problem}; left out"]
    assert [run.seed for run in cut_rows(runs, Moment(1000), warnings.append)] == [0, 1]


def test_one_seed_with_two_budgets_counts_once(tmp_path):
    first = make_run(tmp_path / "a", "Ant-v5", "cem", 0, [0, 1, 2])
    second = make_run(tmp_path / "b", "Ant-v5", "cem", 0, [0, 1, 2, 3])
    warnings = []
    runs = cut_rows(find_runs([tmp_path / "a", tmp_path / "b"], warnings.append), Moment(2000), warnings.append)
    assert [run.path for run in runs] == [first]
    (warning,) = warnings
    assert warning.startswith(f"{second}: repeats seed 0 of {first} ")


def test_the_episodes_of_a_score_are_those_of_the_evaluation_that_gives_it(tmp_path):
    make_run(tmp_path, "Ant-v5", "cem", 0, [0, 1, 2])
    make_run(tmp_path, "Ant-v5", "cem", 1, [0, 1, 2])
    for config in tmp_path.rglob("config.toml"):
        config.write_text(config.read_text().replace("eval_episodes = 2\n", "eval_episodes = 2\nfinal_episodes = 50\n"))
    runs = find_runs([tmp_path], lambda _: None)
    assert {run.final_episodes for run in cut_rows(runs, Moment(2000), lambda _: None)} == {"50"}
    assert {run.final_episodes for run in cut_rows(runs, Moment(1000), lambda _: None)} == {"2"}


def test_successes_are_those_of_the_evaluation_at_the_moment(tmp_path):
    """Only the last evaluation's are kept, so a run that is cut before it has none."""
    path = make_run(tmp_path, "Ant-v5", "cem", 0, [0, 1, 2])
    head, *rows = [line.split(",") for line in (path / "eval.csv").read_text().splitlines()]
    for row, value in zip(rows, ("0 0", "0 0", "1 1"), strict=True):
        row[head.index("success")] = value
    (path / "eval.csv").write_text("".join(",".join(row) + "\n" for row in (head, *rows)))
    runs = find_runs([tmp_path], lambda _: None)
    assert [cut_rows(runs, Moment(step), pytest.fail)[0].last_success for step in (1000, 2000)] == [(), (1, 1)]
