"""Reported times against what a sleeping environment takes at least, and start-up."""

import pytest

from erlbench.pool.processes import ProcessPool
from tests.runs import complete, csv_rows, make_cell, status

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


def test_all_workers_that_train_at_the_same_time_are_there_before_the_clock_starts(tmp_path, monkeypatch):
    """CEM-RL trains several actors at once, each in a worker that imports PyTorch; TD3's tasks are a chain."""
    prepared, prepare = {}, ProcessPool.prepare

    def noting(pool, task, workers, stop=None):
        if task.gradient:
            prepared[cell.algo] = workers
        prepare(pool, task, workers, stop)

    monkeypatch.setattr(ProcessPool, "prepare", noting)
    settings = {"start_timesteps": 60, "hidden": (8,), "batch_size": 8}
    for algo, more in (("cem-rl", {"population": 4, "elites": 2, "n_grad": 2}), ("td3", {})):
        cell = make_cell(algo, tmp_path, steps=200, settings=settings | more, workers=0)
        complete(cell, processes=4)
    assert prepared == {"cem-rl": 3, "td3": 1}
