"""Evaluations: their start states, the score of the saved policy, and which policies on the way are kept."""

import numpy as np
import pytest

from erlbench.records.schema import TaskRow
from erlbench.running.evaluation import evaluation_seeds
from erlbench.running.loop import Run
from erlbench.verification import AGREES, DIFFERS
from tests.runs import (
    check_counts,
    check_same_as_whole,
    complete,
    csv_rows,
    interrupt,
    listen,
    make_cell,
    replayed,
    returns,
    rows,
    run,
    stop,
    verify,
)


def test_policies_are_equal_whatever_the_frequency_of_evaluations(tmp_path):
    """Byte-identical policies have equal final scores, and equal ones at equal steps on the way."""
    cells = [make_cell("cem", tmp_path / str(frequency), eval_freq=frequency) for frequency in (1000, 250)]
    check_counts(complete(*cells))
    rare, often = (rows(cell.directory, "eval.csv") for cell in cells)
    on_the_way = [{row["timesteps"]: returns(row) for row in evaluations[:-1]} for evaluations in (rare, often)]
    assert on_the_way[0].items() < on_the_way[1].items()
    assert returns(rare[-1]) == returns(often[-1]) == replayed(cells[0])
    assert len(returns(rare[-1])) == 3
    spreads = [np.std(returns(row), ddof=1) for row in often]
    assert [float(row["return_std"]) for row in often] == pytest.approx(spreads)


def test_start_states_belong_to_the_seed_and_a_bucket_of_the_budget():
    assert evaluation_seeds(3, 9_999, 10) == evaluation_seeds(3, 0, 10)
    assert evaluation_seeds(3, None, 10) == evaluation_seeds(3, None, 50)[:10]
    found = [evaluation_seeds(seed, steps, 5) for seed in (3, 4) for steps in (0, 10_000, 70_038, None)]
    assert len({value for states in found for value in states}) == 40


def test_the_final_evaluation_is_played_in_parts_of_ten_and_goes_on_in_its_middle(tmp_path, monkeypatch):
    whole, cut, two = (make_cell("cem", tmp_path / name, steps=300, final_episodes=23) for name in ("a", "b", "c"))
    complete(whole)
    complete(two, processes=2)
    played = []

    def stop_in_the_middle(training, record):
        if isinstance(record, TaskRow) and training.evaluations.state.final:
            played.append(record.task)
            if len(played) == 2:
                assert training.evaluations.progress() == (1, 2)
                stop(training)

    with monkeypatch.context() as patch:
        listen(patch, stop_in_the_middle)
        assert run(cut) == 130
    assert not [row for row in rows(cut.directory, "eval.csv") if row["final"] == "1"]
    complete(cut)
    evaluations, tasks = rows(whole.directory, "eval.csv"), rows(whole.directory, "tasks.csv")
    last, first = evaluations[-1], 10**12 + len(evaluations) - 1
    parts = [int(row["timesteps"]) for row in tasks if int(row["task"]) >= first]
    lengths = [int(length) for length in last["lengths"].split()]
    assert parts == [sum(lengths[:10]), sum(lengths[10:20]), sum(lengths[20:])]
    assert returns(last) == replayed(whole)
    for other in (cut, two):
        assert rows(other.directory, "eval.csv") == evaluations
        assert rows(other.directory, "tasks.csv") == tasks


@pytest.mark.parametrize("evaluate", ["during", "after"])
def test_the_last_evaluations_policies_are_kept_and_verified(tmp_path, evaluate):
    cell = make_cell("cem", tmp_path, steps=3000, evaluate=evaluate, eval_freq=200)
    complete(interrupt(cell, 20, processes=2), processes=2)
    rows = csv_rows(cell.directory / "eval.csv")
    final = len(rows) - 1
    assert rows[-1]["total_time_s"] == rows[-1]["train_time_s"]  # that of the training's end
    assert final > 8
    starts = [float(row["start_s"]) for row in csv_rows(cell.directory / "tasks.csv") if int(row["task"]) >= 10**12]
    assert (min(starts) < float(rows[-1]["train_time_s"])) == (evaluate == "during")
    kept = sorted((cell.directory / "policies").glob("*.safetensors"))
    assert [int(path.stem) for path in kept] == [*range(final - 4, final)]  # five; the final one has a file of its own

    def outcomes():
        return [check.outcome for check in verify(cell.directory) if check.name in ("policy", "policies")]

    assert outcomes() == [AGREES, AGREES]
    kept[1].write_bytes(kept[0].read_bytes())
    assert outcomes() == [AGREES, DIFFERS]


def test_evaluating_afterwards_gives_the_same_rows_also_after_an_interruption(tmp_path, monkeypatch):
    during, after = (make_cell("cem", tmp_path / evaluate, evaluate=evaluate) for evaluate in ("during", "after"))
    assert run(during, until=1) == 130
    assert [row["evaluation"] for row in rows(during.directory, "eval.csv")] == ["0", "1"]
    play = Run.play_evaluations

    def stop_first(training):
        stop(training)
        play(training)

    with monkeypatch.context() as patch:
        patch.setattr(Run, "play_evaluations", stop_first)
        assert run(after) == 130
    check_same_as_whole(complete(during, after))
    evaluations = rows(after.directory, "eval.csv")
    assert evaluations == rows(during.directory, "eval.csv")
    assert len(evaluations) >= 4
