"""Reported times against what a sleeping environment takes at least, and start-up."""

import time
from ast import literal_eval

import pytest

from erlbench.pool.serial import SerialPool
from erlbench.running.loop import gradient_workers
from tests.runs import complete, csv_rows, make_cell, status
from tests.tables import cells

SECONDS = 0.016  # a step
STEPS = 50  # an episode
POPULATION, GENERATIONS = 4, 2
ATTEMPTS = 8  # on a loaded machine a run may be late; none may ever be early
LATE = 0.06  # of the training time: half of what an evaluation, or the start of a worker, would add to the longest one


@pytest.mark.slow
@pytest.mark.parametrize("processes", [0, 2, 3])
def test_the_training_time_is_the_physical_one(processes, tmp_path):
    """CEM's generations of four episodes: never less than their rounds on the processes, and hardly more."""
    physical = GENERATIONS * -(-POPULATION // max(1, processes)) * STEPS * SECONDS
    for attempt in range(ATTEMPTS):
        cell = make_cell(
            "cem", tmp_path / str(attempt), "tests.environments:Sleeping-v0", GENERATIONS * POPULATION * STEPS,
            evaluate="after", eval_freq=100, eval_episodes=1, final_episodes=1,
            settings={"population": POPULATION, "elites": 2},
            env_settings={"mean_length": STEPS, "seconds_per_step": SECONDS},
        )  # fmt: skip
        complete(cell, processes=processes)
        evaluations, seconds = csv_rows(cell.directory / "eval.csv"), status(cell)["train_time_s"]
        assert len(evaluations) == 1 + GENERATIONS
        assert status(cell)["total_time_s"] >= seconds == float(evaluations[-1]["train_time_s"])
        assert seconds >= physical
        if seconds <= (1 + LATE) * physical:
            return
    pytest.fail(f"{seconds:.3f} s are reported for {physical:.3f} s")


# Gradient workers of a cell with as many processes: CEM-RL trains several actors at once, TD3's tasks are a chain.
WORKERS = """
cem-rl | {}                                                              | 4 | 3
cem-rl | {}                                                              | 2 | 2
cem-rl | {}                                                              | 0 | 1
cem-rl | {"steps": 0, "total_minutes": 1.0, "simulated_time": True}      | 4 | 3
td3    | {"steps": 301}                                                  | 4 | 1
td3    | {"steps": 300}                                                  | 4 | 0
cem    | {}                                                              | 4 | 0
"""


@pytest.mark.parametrize(("algo", "changes", "processes", "expected"), cells(WORKERS))
def test_there_are_as_many_gradient_workers_as_train_at_the_same_time(tmp_path, algo, changes, processes, expected):
    settings = {"population": 4, "elites": 2, "n_grad": 2} if algo == "cem-rl" else {}
    cell = make_cell(algo, tmp_path, workers=0, settings=settings, **literal_eval(changes))
    assert gradient_workers(cell, int(processes)) == int(expected)


def test_all_workers_are_there_before_the_clock_starts(tmp_path, monkeypatch):
    prepared = []

    def prepare(pool, task, workers, stop=None):
        prepared.append((task.gradient, workers))
        time.sleep(0.4)

    monkeypatch.setattr(SerialPool, "prepare", prepare)
    cell = complete(make_cell("cem-rl", tmp_path, steps=301, settings={"population": 4, "elites": 2, "n_grad": 2}))
    assert prepared == [(True, 1), (False, 4)]
    assert float(csv_rows(cell.directory / "tasks.csv")[0]["start_s"]) < 0.4
