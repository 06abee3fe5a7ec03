"""Evaluations: their start states, and that the reported score is that of the saved policy."""

import numpy as np
import pytest

from erlbench.records.schema import TaskRow
from erlbench.running.evaluation import evaluation_seeds
from erlbench.running.rows import Clock
from tests.runs import csv_rows, listen, make_cell, replayed, returns, rows, run, stop


def test_policies_are_equal_whatever_the_frequency_of_evaluations(tmp_path):
    """Byte-identical policies have equal final scores, and equal ones at equal steps on the way."""
    rare, often = (
        make_cell("cem", tmp_path / str(frequency), steps=1000, eval_freq=frequency) for frequency in (1000, 250)
    )
    longer = make_cell("cem", tmp_path / "longer", steps=1300, eval_freq=250)
    assert run(rare, often, longer) == 0
    by_steps = [
        {row["timesteps"]: returns(row) for row in rows(cell.directory, "eval.csv") if row["final"] == "0"}
        for cell in (rare, often, longer)
    ]
    assert by_steps[0].items() <= by_steps[1].items() <= by_steps[2].items()
    assert len(by_steps[0]) < len(by_steps[1]) < len(by_steps[2])
    first, second = (rows(cell.directory, "eval.csv")[-1] for cell in (rare, often))
    assert returns(first) == returns(second) == replayed(rare)
    assert len(returns(first)) == 3
    evaluations = rows(longer.directory, "eval.csv")
    spreads = [np.std(returns(row), ddof=1) for row in evaluations]
    assert [float(row["return_std"]) for row in evaluations] == pytest.approx(spreads)


@pytest.mark.parametrize("evaluate", ["during", "after"])
def test_the_final_row_has_the_time_of_the_trainings_end_and_the_others_the_total_time(tmp_path, monkeypatch, evaluate):
    monkeypatch.setattr(Clock, "train", property(lambda clock: 3.0))
    monkeypatch.setattr(Clock, "total", property(lambda clock: 7.0))
    cell = make_cell("cem", tmp_path, steps=300, eval_freq=100, evaluate=evaluate)
    assert run(cell) == 0
    *others, last = csv_rows(cell.directory / "eval.csv")
    assert len(others) > 1
    assert {(float(row["train_time_s"]), float(row["total_time_s"])) for row in others} == {(3.0, 7.0)}
    assert (float(last["train_time_s"]), float(last["total_time_s"])) == (3.0, 3.0)


def test_start_states_belong_to_the_seed_and_a_bucket_of_the_budget():
    assert evaluation_seeds(3, 9_999, 10) == evaluation_seeds(3, 0, 10)
    assert evaluation_seeds(3, None, 10) == evaluation_seeds(3, None, 50)[:10]
    found = [evaluation_seeds(seed, steps, 5) for seed in (3, 4) for steps in (0, 10_000, 70_038, None)]
    assert len({value for states in found for value in states}) == 40


def test_the_final_evaluation_is_played_in_parts_of_ten_and_goes_on_in_its_middle(tmp_path, monkeypatch):
    whole, cut, two = (make_cell("cem", tmp_path / name, steps=300, final_episodes=23) for name in ("a", "b", "c"))
    assert run(whole) == 0
    assert run(two, processes=2) == 0
    played = []

    def stop_in_the_middle(training, record):
        if isinstance(record, TaskRow) and training.evaluations.state.final:
            played.append(record.task)
            if len(played) == 2:
                stop(training)

    with monkeypatch.context() as patch:
        listen(patch, stop_in_the_middle)
        assert run(cut) == 130
    assert not [row for row in rows(cut.directory, "eval.csv") if row["final"] == "1"]
    assert run(cut) == 0
    evaluations, tasks = rows(whole.directory, "eval.csv"), rows(whole.directory, "tasks.csv")
    last, first = evaluations[-1], 10**12 + len(evaluations) - 1
    parts = [int(row["timesteps"]) for row in tasks if int(row["task"]) >= first]
    lengths = [int(length) for length in last["lengths"].split()]
    assert parts == [sum(lengths[:10]), sum(lengths[10:20]), sum(lengths[20:])]
    assert returns(last) == replayed(whole)
    for other in (cut, two):
        assert rows(other.directory, "eval.csv") == evaluations
        assert rows(other.directory, "tasks.csv") == tasks
