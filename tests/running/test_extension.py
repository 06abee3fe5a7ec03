"""A finished run and a larger budget: the numbers of a run that had it from the start, or the reason why not."""

import shutil

import pytest

from erlbench.algorithms import registry
from erlbench.errors import UsageError
from erlbench.records.run import TRAINING_END
from erlbench.running.folder import RunFolder
from erlbench.running.loop import Run
from erlbench.verification import DIFFERS, verify
from tests.runs import all_rows, interrupt, make_cell, replayed, returns, rows, run

EXTENDED = {
    "cem", "cma-es", "nevergrad", "openai-es", "cem-rl", "p-cem-rl", "multi-actor-td3", "erl", "esac", "snes",
    "ga", "ars", "pgpe", "evorainbow-exp", "pderl",
}  # fmt: skip
REASONS = {
    "td3": "the last episode ends with the budget",
    "ddpg": "the last episode ends with the budget",
    "crossq": "the last episode ends with the budget",
    "sac": "the last episode ends with the budget",
    "ppo": "the last iteration ends with the budget, and the learning rate can fall to 0 there",
    "trpo": "the last iteration ends with the budget, and the learning rate can fall to 0 there",
    "aes-rl": "aes-rl is asynchronous",
}


@pytest.mark.slow
@pytest.mark.parametrize("algo", registry.ALGORITHMS)
def test_a_larger_budget_gives_the_numbers_of_a_longer_run_or_is_refused(algo, tmp_path):
    if algo not in EXTENDED:
        assert run(make_cell(algo, tmp_path, steps=20, final_episodes=1), save_replay=True) == 0
        with pytest.raises(UsageError, match=f"700 steps: {REASONS[algo]}"):
            run(make_cell(algo, tmp_path, steps=700, final_episodes=1))
        return
    short, longer = (make_cell(algo, tmp_path / "parts", steps=steps) for steps in (400, 700))
    assert run(short, save_replay=True) == 0
    assert run(longer) == 0
    whole = make_cell(algo, tmp_path / "whole", steps=700)
    assert run(whole) == 0
    assert all_rows(longer.directory) == all_rows(whole.directory)
    assert returns(rows(longer.directory, "eval.csv")[-1]) == replayed(longer)


@pytest.mark.parametrize(
    ("algo", "settings", "reason"),
    [
        ("openai-es", {"timesteps_per_batch": 500}, "timesteps_per_batch"),
        ("esac", {"p_clock": "budget"}, "p_clock=budget scales the share of SAC"),
        ("p-cem-rl", {"parallel_critic": True}, "is asynchronous"),
    ],
)
def test_settings_decide(algo, settings, reason, tmp_path):
    cell = make_cell(algo, tmp_path, settings=settings)
    algorithm = registry.find(algo)
    if algorithm.is_synchronous(cell.settings):
        assert reason in algorithm.depends_on_budget(cell.settings)
    assert run(make_cell(algo, tmp_path, settings=settings, steps=300)) == 0
    with pytest.raises(UsageError, match=reason):
        run(cell)


@pytest.mark.parametrize("processes", [0, 2])
@pytest.mark.parametrize("evaluate", ["during", "after"])
def test_extended_twice_and_interrupted_wherever_that_is(tmp_path, processes, evaluate):
    whole = make_cell("cem", tmp_path / "whole", steps=1500, evaluate=evaluate)
    assert run(whole) == 0
    for steps in (400, 900, 1500):
        cell = make_cell("cem", tmp_path / "parts", steps=steps, evaluate=evaluate)
        interrupt(cell, 1, 5, processes=processes)
        assert run(cell, processes=processes) == 0
        assert len(list((cell.directory / TRAINING_END).iterdir())) == 1
    assert all_rows(cell.directory) == all_rows(whole.directory)
    assert [check.text for check in verify(cell.directory) if check.outcome == DIFFERS] == []
    status = RunFolder(cell.directory).status()
    assert (status["status"], status["total_timesteps"]) == ("done", 1500)


class Killed(BaseException):
    """As if the process were gone."""


@pytest.mark.parametrize("where", ["_begin", "_finish"])
def test_killed_before_it_begins_and_before_it_ends(tmp_path, monkeypatch, where):
    whole = make_cell("cem", tmp_path / "whole")
    assert run(whole) == 0
    assert run(make_cell("cem", tmp_path / "parts", steps=500)) == 0
    longer = make_cell("cem", tmp_path / "parts")

    def killed(*_):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Run, where, killed)
        with pytest.raises(Killed):
            run(longer)
    assert run(longer) == 0
    assert all_rows(longer.directory) == all_rows(whole.directory)


def test_what_cannot_be_extended_says_why(tmp_path, capsys):
    short, longer = (make_cell("cem-rl", tmp_path, steps=steps) for steps in (400, 600))
    assert run(short) == 0
    before = all_rows(short.directory)
    with pytest.raises(UsageError, match=r"training-end/ .*--save-replay"):
        run(longer)
    with pytest.raises(UsageError, match=r"run\.total_timesteps: 400 .*200"):
        run(make_cell("cem-rl", tmp_path, steps=200))
    with pytest.raises(UsageError, match=r"run\.eval_freq"):
        run(make_cell("cem-rl", tmp_path, steps=600, eval_freq=100))
    assert all_rows(short.directory) == before
    saved = make_cell("cem-rl", tmp_path / "saved", steps=400)
    assert run(saved, save_replay=True) == 0
    shutil.rmtree(saved.directory / "replay")
    assert run(make_cell("cem-rl", tmp_path / "saved", steps=600)) == 1
    assert "was truncated" in capsys.readouterr().err


def test_a_damaged_run_is_not_extended(tmp_path, capsys):
    assert run(make_cell("cem", tmp_path, steps=500)) == 0
    longer = make_cell("cem", tmp_path)
    with open(longer.directory / "episodes.csv", "a") as file:
        file.write("1,1,1,es,0,0,0\n")
    assert run(longer) == 1
    assert "damaged: episodes.csv" in capsys.readouterr().err
    assert RunFolder(longer.directory).status()["total_timesteps"] == 500


def test_an_extension_that_fails_leaves_the_finished_run_as_it_was(tmp_path):
    short, longer = (make_cell("cem", tmp_path, steps=steps) for steps in (200, 400))
    assert run(short) == 0
    (arrays,) = (short.directory / TRAINING_END).glob("*/arrays.safetensors")
    data = bytearray(arrays.read_bytes())
    data[-1] ^= 1
    arrays.write_bytes(data)
    before = {name: (short.directory / name).read_bytes() for name in ("config.toml", "status.json", "eval.csv")}
    assert run(longer) == 1
    assert {name: (short.directory / name).read_bytes() for name in before} == before
    assert run(short) == 0
