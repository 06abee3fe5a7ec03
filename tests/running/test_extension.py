"""A finished run and a larger budget: the numbers of a run that had it from the start, or the reason why not."""

import shutil
from ast import literal_eval

import pytest

from erlbench.algorithms import registry
from erlbench.errors import UsageError
from erlbench.records.run import TRAINING_END
from erlbench.running.loop import Run
from erlbench.running.refusals import useless_replays
from erlbench.verification import DIFFERS
from tests.files import flip
from tests.runs import (
    all_rows,
    check_same_as_whole,
    complete,
    interrupt,
    make_cell,
    replayed,
    returns,
    rows,
    run,
    status,
    verify,
)
from tests.tables import cells


@pytest.mark.slow
@pytest.mark.parametrize("algo", registry.ALGORITHMS)
def test_a_larger_budget_gives_the_numbers_of_a_longer_run_or_is_refused(algo, tmp_path):
    """`tests/test_docs.py` holds which algorithms have which of both."""
    short, longer = (make_cell(algo, tmp_path / "parts", steps=steps) for steps in (400, 700))
    complete(short, save_replay=True)
    kind = registry.find(algo)
    if not kind.is_synchronous(longer.settings) or kind.depends_on_budget(longer.settings):
        with pytest.raises(UsageError, match="700 steps: "):
            run(longer)
        return
    check_same_as_whole(complete(longer))
    assert returns(rows(longer.directory, "eval.csv")[-1]) == replayed(longer)


DECIDING = """
td3       | {}                                                                       | ends with the budget
openai-es | {"timesteps_per_batch": 500}                                             | timesteps_per_batch
esac      | {"p_clock": "budget"}                                                    | p_clock=budget
cem-rl    | {"coupling": "winners", "learner": "sac", "options": "p_clock=budget"}   | p_clock=budget
p-cem-rl  | {"parallel_critic": True}                                                | is asynchronous
"""


@pytest.mark.parametrize(("algo", "changed", "reason"), cells(DECIDING))
def test_settings_decide(algo, changed, reason, tmp_path):
    settings = literal_eval(changed)
    complete(make_cell(algo, tmp_path, settings=settings, steps=50))
    longer = make_cell(algo, tmp_path, settings=settings)
    with pytest.raises(UsageError, match=reason):
        run(longer)
    assert [*useless_replays([longer])] == ([] if algo == "openai-es" else [algo])  # it has none


@pytest.mark.parametrize(
    ("processes", "changes"), [(0, {"evaluate": "during"}), (2, {"evaluate": "after"}), (0, {"simulated_time": True})]
)
def test_extended_twice_and_interrupted_wherever_that_is(tmp_path, processes, changes):
    for steps in (400, 900, 1500):
        cell = interrupt(make_cell("cem", tmp_path / "parts", steps=steps, **changes), 1, 5, processes=processes)
        complete(cell, processes=processes)
        assert len(list((cell.directory / TRAINING_END).iterdir())) == 1
    check_same_as_whole(cell)
    assert [check.text for check in verify(cell.directory) if check.outcome == DIFFERS] == []
    assert (status(cell)["status"], status(cell)["total_timesteps"]) == ("done", 1500)


class Killed(BaseException):
    """As if the process were gone."""


@pytest.mark.parametrize("where", ["_begin", "_finish"])
def test_killed_before_it_begins_and_before_it_ends(tmp_path, monkeypatch, where):
    complete(make_cell("cem", tmp_path / "parts", steps=500))
    longer = make_cell("cem", tmp_path / "parts")

    def killed(*_):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Run, where, killed)
        with pytest.raises(Killed):
            run(longer)
    check_same_as_whole(complete(longer))


def test_what_cannot_be_extended_says_why(tmp_path, capsys):
    short = complete(make_cell("cem-rl", tmp_path, steps=400))
    before = all_rows(short.directory)
    for message, steps, more in (
        (r"training-end/ .*--save-replay", 600, {}),
        (r"run\.total_timesteps: 400 .*200", 200, {}),
        (r"run\.eval_freq", 600, {"eval_freq": 100}),
    ):
        with pytest.raises(UsageError, match=message):
            run(make_cell("cem-rl", tmp_path, steps=steps, **more))
    assert all_rows(short.directory) == before
    complete(short, save_replay=True, force=True)
    shutil.rmtree(short.directory / "replay")
    assert run(make_cell("cem-rl", tmp_path, steps=600)) == 1
    assert "was truncated" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["episodes.csv", "arrays.safetensors"])
def test_an_extension_that_fails_leaves_the_finished_run_as_it_was(tmp_path, capsys, name):
    short, longer = (make_cell("cem", tmp_path, steps=steps) for steps in (200, 400))
    complete(short)
    (damaged,) = short.directory.rglob(name)
    flip(damaged)
    before = {name: (short.directory / name).read_bytes() for name in ("config.toml", "status.json", "eval.csv")}
    assert run(longer, verbosity=0) == 1
    assert ("goes on from 3" if name.startswith("arrays") else f"damaged: {name}") in capsys.readouterr().err
    assert {name: (short.directory / name).read_bytes() for name in before} == before
