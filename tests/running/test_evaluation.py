"""Evaluations: their start states, and that the reported score is that of the saved policy."""

from erlbench.running.evaluation import BUCKET, evaluation_seeds
from erlbench.running.training import Training
from tests.runs import make_cell, replayed, returns, rows, run, stop


def test_the_final_score_is_that_of_the_saved_policy_although_it_moved_after_the_last_step(tmp_path):
    """AES-RL's mean moves when its own episodes come back, after the last training step."""
    settings = {"p_desired": 0.0}
    cell = make_cell("aes-rl", tmp_path, env="Pendulum-v1", steps=3000, eval_freq=200, settings=settings)
    assert run(cell) == 0
    *others, last = rows(cell.directory, "eval.csv")
    assert [row["final"] for row in others] == ["0"] * len(others)
    assert last["final"] == "1"
    assert returns(last) == replayed(cell)


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


def test_a_run_that_is_stopped_in_its_final_evaluation_takes_it_once(tmp_path, monkeypatch):
    cell = make_cell("cem", tmp_path, steps=300)
    with monkeypatch.context() as patch:

        def stop_first(training):
            stop(training)
            training._hear(training.evaluations.rest())

        patch.setattr(Training, "_finish", stop_first)
        assert run(cell) == 130
    assert run(cell) == 0
    assert [row["final"] for row in rows(cell.directory, "eval.csv")].count("1") == 1


def test_start_states_belong_to_the_seed_and_a_bucket_of_the_budget():
    assert evaluation_seeds(3, BUCKET - 1, 10) == evaluation_seeds(3, 0, 10)
    assert evaluation_seeds(3, None, 10) == evaluation_seeds(3, None, 50)[:10]
    found = [evaluation_seeds(seed, steps, 5) for seed in (3, 4) for steps in (0, BUCKET, 7 * BUCKET + 38, None)]
    assert len({value for states in found for value in states}) == 40
