"""The door for environments, as a command meets it: who is refused, fails alone, is marked, or is mended."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

import erlbench
from erlbench.errors import ErlbenchError, UsageError
from erlbench.records.read import read_rows
from erlbench.records.run import admission_marks
from erlbench.records.schema import EpisodeRow, EvaluationRow
from erlbench.reporting.agreement import find_disagreements
from erlbench.reporting.score import SUCCESS, SUCCESS_EVER, score
from erlbench.running.admission import Rules, admit
from erlbench.verification import AGREES, UNKNOWN, verify
from tests.reporting.compare import find_rows
from tests.runs import make_cell, returns, rows, run

GENTLE = {"population": 4, "elites": 2, "hidden": (4,)}


def cell(name, out, **more):
    return make_cell("cem", out, f"tests.faults:{name}-v0", steps=120, settings=GENTLE, **more)


def meta(made):
    return json.loads((made.directory / "meta.json").read_text())


def status(made):
    return json.loads((made.directory / "status.json").read_text())


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


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_the_whole_command_outlives_an_environment_that_crashes(tmp_path, more):
    """Nothing that is said before a run makes environments in the command's own process."""
    words = [sys.executable, "-m", "erlbench", "run", "--algo", "cem", "--env",
             "tests.faults:Crashes-constructor-v0,tests.faults:Line-v0", "--set", "population=4", "--set", "elites=2",
             "--total-timesteps", "120", "--processes", "0", "--out", str(tmp_path), *more]  # fmt: skip
    done = subprocess.run(words, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 if not more else done.returncode in (0, 1)
    assert "SIGSEGV" in done.stderr
    if "--dry-run" not in more:
        assert json.loads(next(tmp_path.glob("*Line*/cem/*/status.json")).read_text())["status"] == "done"


@pytest.mark.parametrize("code", ["import os; os._exit(3)", "import time; time.sleep(1000)", "raise SystemExit(0)"])
def test_a_module_that_ends_or_holds_its_process_is_named(tmp_path, monkeypatch, code):
    (tmp_path / "ending.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    for settings in ({}, {"g": 1}):
        with pytest.raises(ErlbenchError, match="ending:Thing-v0") as raised:
            admit("ending:Thing-v0", settings, Rules(limit=2.0))
        assert ("SystemExit" if "Exit" in code else "import") in str(raised.value)


def test_a_refusal_writes_nothing(tmp_path):
    for name in ("Global", "NormalizeReward", "Whole"):
        with pytest.raises(UsageError, match=name) as refusal:
            erlbench.run(
                "cem", ["Pendulum-v1", f"tests.faults:{name}-v0"], total_timesteps=100, out=str(tmp_path / "r")
            )
        assert refusal.value.exit_code == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["Settling", "Curriculum"])
def test_what_is_mended_is_equal_with_any_number_of_processes_and_when_played_again(tmp_path, name):
    found = []
    for processes in (0, 2):
        fresh = admit(f"tests.faults:{name}-v0", {}, Rules()).problem.env.fresh
        made = cell(name, tmp_path / str(processes), env_settings={"fresh": fresh})
        assert run(made, processes=processes) == 0
        found.append([rows(made.directory, file) for file in ("eval.csv", "episodes.csv")])
    assert found[0] == found[1]
    checks = {check.name: check for check in verify(made.directory, trusted=True)}
    assert checks["policy"].outcome == checks["admission"].outcome == AGREES


@pytest.mark.parametrize(
    ("options", "word"), [({"anyway": True}, "cannot be repeated"), ({"admission": False}, "not tried")]
)
def test_a_run_that_may_not_be_repeatable_is_marked_everywhere(tmp_path, options, word):
    made = cell("Noisy", tmp_path)
    assert run(made, **options) == 0
    (mark,) = admission_marks(meta(made))
    assert word in mark
    (read,) = find_rows([tmp_path], pytest.fail)
    assert read.marks == (mark,)
    (remark,) = find_disagreements([("cem", [read])])
    assert mark in remark
    checks = {check.name: check for check in verify(made.directory, trusted=True)}
    assert checks["admission"].outcome == UNKNOWN
    assert mark in checks["admission"].text
    assert checks["policy"].outcome == UNKNOWN  # other returns are no difference where equal ones are not promised


def test_success_and_numbers_of_infos_are_recorded(tmp_path):
    made = cell("Goal", tmp_path, info=("steps", "nothing", "name"))
    assert run(made, processes=1) == 0
    assert made.config()["run"]["info"] == ["steps", "nothing", "name"]
    episodes, evaluations = read_rows(tmp_path / made.directory, EpisodeRow), read_rows(made.directory, EvaluationRow)
    assert set(episodes["success"]) == {0}
    assert set(episodes["success_ever"]) == {1}
    steps, nothing, name = episodes["info"].iloc[-1]
    assert (steps, math.isnan(nothing), math.isnan(name)) == (19, True, True)
    final = evaluations.iloc[-1]
    assert (final["success"], final["success_ever"]) == ((0,) * 3, (1,) * 3)
    assert final["info"][::3] == (19,) * 3
    (read,) = find_rows([tmp_path], pytest.fail)
    assert (score(read, SUCCESS), score(read, SUCCESS_EVER)) == (0, 1)


@pytest.mark.parametrize(("algo", "more"), [("td3", {"start_timesteps": 40}), ("ppo", {})])
def test_learners_record_success_too(tmp_path, algo, more):
    made = make_cell(algo, tmp_path, "tests.faults:Goal-v0", steps=320, settings=more)
    assert run(made) == 0
    assert {row["success_ever"] for row in rows(made.directory, "episodes.csv")[:3]} == {"1"}
    assert len(returns(rows(made.directory, "eval.csv")[-1])) == 3


def test_an_environment_that_only_this_program_has_can_be_run_in_it(tmp_path):
    import tests.faults  # registers Bound-v0 here, by an object

    assert tests.faults.LIMIT == 20
    made = make_cell("cem", tmp_path, "Bound-v0", steps=120, settings=GENTLE)
    assert run(made, processes=0) == 0
    assert meta(made)["starts"][-1]["admission"]["tried"]


def test_an_id_that_an_installed_package_registers_is_answered_as_it_is_typed(tmp_path, monkeypatch):
    """By what distributions say that they need; a module that belongs to none is not imported."""
    code = "import gymnasium\nfrom pathlib import Path\nPath(__file__).with_suffix('.seen').touch()\n"
    for name in ("robots_of_theirs", "file_of_mine"):
        (tmp_path / f"{name}.py").write_text(f"{code}gymnasium.register('Crawler-v9', lambda: None)\n")
    about = tmp_path / "robots-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: robots\nVersion: 1.0\nRequires-Dist: gymnasium>=1\n")
    (about / "top_level.txt").write_text("robots_of_theirs\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError, match="--env robots_of_theirs:Crawler-v9"):
        admit("Crawler-v9", {}, Rules())
    assert [path.name for path in tmp_path.glob("*.seen")] == ["robots_of_theirs.seen"]
