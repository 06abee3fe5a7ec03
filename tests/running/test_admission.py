"""The door for environments, as a command meets it: who is refused, fails alone, is marked, or is mended."""

import math

import pytest

import erlbench
from erlbench.errors import ErlbenchError, UsageError
from erlbench.records.read import read_rows
from erlbench.records.run import admission_marks
from erlbench.records.schema import EpisodeRow, EvaluationRow
from erlbench.running.admission import Rules, admit
from erlbench.verification import AGREES, UNKNOWN
from tests.runs import complete, make_cell, meta, rows, run, status, verify

GENTLE = {"population": 4, "elites": 2, "hidden": (4,)}


def cell(name, out, **more):
    return make_cell("cem", out, f"tests.faults:{name}-v0", steps=120, settings=GENTLE, **more)


def test_an_environment_that_ends_or_holds_its_process_fails_alone(tmp_path, capsys):
    """Once the whole command ended with it: signal 11 and no line, or for ever."""
    places = {"constructor": "SIGSEGV", "reset": "exit code 3", "step": "SIGABRT", "close": "more than 2 s"}
    bad = {place: cell(f"Crashes-{place}", tmp_path) for place in places}
    good = cell("Line", tmp_path)
    assert run(*bad.values(), good, task_timeout=2.0) == 1
    assert status(good)["status"] == "done"
    printed = capsys.readouterr().err
    for place, end in places.items():
        message = status(bad[place])["message"]
        assert end in message
        assert place.removesuffix("tructor") in message
        assert message in printed
        assert "\n" not in message
    assert admit("tests.faults:Crashes-step-v0", {}, Rules(anyway=True)).problem.env.id


@pytest.mark.parametrize("code", ["import os; os._exit(3)", "import time; time.sleep(1000)", "raise SystemExit(0)"])
def test_a_module_that_ends_or_holds_its_process_is_named(write_module, code):
    write_module("ending", code)
    with pytest.raises(ErlbenchError, match="ending:Thing-v0") as raised:
        admit("ending:Thing-v0", {}, Rules(limit=2.0))
    assert ("SystemExit" if "Exit" in code else "import") in str(raised.value)


@pytest.mark.parametrize("name", ["Global", "Whole", "Noisy"])
def test_a_refusal_writes_nothing(tmp_path, name):
    with pytest.raises(UsageError, match=name) as refusal:
        erlbench.run("cem", ["Pendulum-v1", f"tests.faults:{name}-v0"], total_timesteps=100, out=str(tmp_path / "r"))
    assert refusal.value.exit_code == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["Settling", "Curriculum"])
def test_what_is_mended_is_equal_with_any_number_of_processes_and_when_played_again(tmp_path, name):
    found = []
    for processes in (0, 2):
        fresh = admit(f"tests.faults:{name}-v0", {}, Rules()).problem.env.fresh
        made = complete(cell(name, tmp_path / str(processes), env_settings={"fresh": fresh}), processes=processes)
        found.append([rows(made.directory, file) for file in ("eval.csv", "episodes.csv")])
    assert found[0] == found[1]
    checks = {check.name: check for check in verify(made.directory, trusted=True)}
    assert checks["policy"].outcome == checks["admission"].outcome == AGREES


@pytest.mark.parametrize(
    ("options", "word"), [({"anyway": True}, "cannot be repeated"), ({"admission": False}, "not tried")]
)
def test_a_run_that_may_not_be_repeatable_is_marked(tmp_path, options, word):
    made = complete(cell("Noisy", tmp_path), **options)
    (mark,) = admission_marks(meta(made))
    assert word in mark
    checks = {check.name: check.outcome for check in verify(made.directory, trusted=True)}
    assert checks["admission"] == checks["policy"] == UNKNOWN  # other returns are no difference: none were promised


def test_success_and_numbers_of_infos_are_recorded(tmp_path):
    made = complete(cell("Goal", tmp_path, info=("steps", "nothing", "name")), processes=1)
    assert made.config()["run"]["info"] == ["steps", "nothing", "name"]
    episodes, evaluations = read_rows(made.directory, EpisodeRow), read_rows(made.directory, EvaluationRow)
    assert (set(episodes["success"]), set(episodes["success_ever"])) == ({0}, {1})
    steps, *others = episodes["info"].iloc[-1]
    assert (steps, *map(math.isnan, others)) == (19, True, True)
    final = evaluations.iloc[-1]
    assert (final["success"], final["success_ever"], final["info"][::3]) == ((0,) * 3, (1,) * 3, (19,) * 3)
