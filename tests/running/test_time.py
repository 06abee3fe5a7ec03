"""Reported times against what a sleeping environment takes at least, and start-up."""

import json

import pytest

from erlbench.pool.processes import ProcessPool
from tests.runs import FILES, csv_rows, interrupt, make_cell, rows, run

SECONDS = 0.016  # a step
STEPS = 50  # an episode
SMALL_POPULATION = {"population": 4, "elites": 2, "n_grad": 2}
POPULATION, GENERATIONS = 4, 2
ATTEMPTS = 8  # on a loaded machine a run may be late; none may ever be early
LATE = 0.06  # of the training time: half of what an evaluation, or the start of a worker, would add to the longest one
SLEEPING = {"env": "erlbench/Latency-v0", "env_settings": {"mean_length": STEPS, "seconds_per_step": SECONDS}}


def trained(cell):
    """The training time that a finished run reports; eval.csv and status.json agree on it."""
    last = csv_rows(cell.directory / "eval.csv")[-1]
    status = json.loads((cell.directory / "status.json").read_text())
    assert status["train_time_s"] == float(last["train_time_s"])
    assert status["total_time_s"] >= status["train_time_s"]
    return status["train_time_s"]


@pytest.mark.slow
@pytest.mark.parametrize("processes", [0, 1, 2, 3, 4])
def test_the_training_time_is_the_physical_one(processes, tmp_path):
    """CEM's generations of four episodes: never less than their rounds on the processes, and hardly more."""
    physical = GENERATIONS * -(-POPULATION // max(1, processes)) * STEPS * SECONDS
    for attempt in range(ATTEMPTS):
        cell = make_cell(
            "cem", tmp_path / str(attempt), steps=GENERATIONS * POPULATION * STEPS, evaluate="after", eval_freq=100,
            eval_episodes=1, final_episodes=1, settings={"population": POPULATION, "elites": 2}, **SLEEPING,
        )  # fmt: skip
        assert run(cell, processes=processes) == 0
        assert len(rows(cell.directory, "eval.csv")) == 1 + GENERATIONS
        assert trained(cell) >= physical
        if trained(cell) <= (1 + LATE) * physical:
            return
    pytest.fail(f"{trained(cell):.3f} s are reported for {physical:.3f} s")


@pytest.mark.slow
def test_asynchronous_training_is_not_reported_faster_than_its_steps(tmp_path):
    """Workers are always busy here, so a slot that evaluated would slow the training down, and be subtracted."""
    settings = {"mean_episodes": 1}
    cell = make_cell(
        "aes-rl",
        tmp_path,
        steps=600,
        workers=2,
        eval_freq=100,
        eval_episodes=1,
        settings=settings,
        evaluate="after",
        **SLEEPING,
    )
    assert run(cell, processes=2) == 0
    last = rows(cell.directory, "eval.csv")[-1]
    slept = (int(last["timesteps"]) + int(last["fitness_timesteps"])) * SECONDS
    assert trained(cell) >= slept / 2
    tasks = csv_rows(cell.directory / "tasks.csv")
    training_end = max(float(row["end_s"]) for row in tasks if row["kind"] != "evaluation")
    evaluations = [row for row in tasks if row["kind"] == "evaluation"]
    assert evaluations
    assert min(float(row["start_s"]) for row in evaluations) >= training_end


@pytest.mark.slow
def test_start_up_counts_for_no_cell(tmp_path):
    """Importing PyTorch takes more than a second; TD3's tasks are a chain, so it would stand between two of them."""
    first, second = (
        make_cell("td3", tmp_path, steps=600, seed=seed, settings={"start_timesteps": 60}) for seed in (0, 1)
    )
    assert run(first, second, processes=2) == 0
    for cell in (first, second):
        tasks = sorted(csv_rows(cell.directory / "tasks.csv"), key=lambda row: float(row["start_s"]))
        ends = [0.0, *(float(row["end_s"]) for row in tasks if row["kind"] != "evaluation")]
        starts = [float(row["start_s"]) for row in tasks if row["kind"] != "evaluation"]
        assert starts[0] >= 0
        assert max(start - end for start, end in zip(starts, ends, strict=False)) < 0.7
    assert not any(row["kind"] == "preparation" for row in csv_rows(first.directory / "tasks.csv"))


def test_all_workers_that_train_at_the_same_time_are_there_before_the_clock_starts(tmp_path, monkeypatch):
    """CEM-RL trains several actors at once, each in a worker that imports PyTorch; TD3's tasks are a chain."""
    asked = {}
    prepare = ProcessPool.prepare

    def noting(pool, task, workers, stop=None):
        if task.gradient:
            asked[cell.algo] = workers
        prepare(pool, task, workers, stop)

    monkeypatch.setattr(ProcessPool, "prepare", noting)
    settings = {"start_timesteps": 60, "hidden": (8,), "batch_size": 8}
    for cell in (
        make_cell("cem-rl", tmp_path, steps=200, settings=settings | SMALL_POPULATION, workers=0),
        make_cell("td3", tmp_path, steps=200, settings=settings, workers=0),
    ):
        assert run(cell, processes=4) == 0
    assert asked == {"cem-rl": 3, "td3": 1}


@pytest.mark.parametrize(
    ("algo", "settings"),
    [("cem", {"population": 8, "elites": 4}), ("cem-rl", {}), ("aes-rl", {}), ("openai-es", {"stale": "discard"})],
)
@pytest.mark.parametrize("stops", [(9,), (3, 14)])
def test_an_interruption_changes_no_simulated_time(tmp_path, algo, settings, stops):
    """All columns of all files, the times included; results that waited for their turn are not worked on again."""
    given = {"steps": 700, "settings": settings, "simulated_time": True, "simulated_processes": 4}
    whole, parts = (make_cell(algo, tmp_path / name, **given) for name in ("whole", "parts"))
    assert run(whole) == 0
    interrupt(parts, *stops)
    assert run(parts) == 0
    for name in FILES:
        lines = [
            sorted(
                line.rpartition(",")[0] if name == "tasks.csv" else line  # its last column is real processor time
                for line in (cell.directory / name).read_text().splitlines() if not line.startswith("#")
            )
            for cell in (whole, parts)
        ]  # fmt: skip
        assert lines[0] == lines[1], name
