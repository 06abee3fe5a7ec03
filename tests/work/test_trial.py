"""Trying an environment: what its seed does not decide is found, mended where that can be done, and named."""

import errno
import json
import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from erlbench.work import inspection, trial
from erlbench.work.inspection import Inspection
from erlbench.work.trial import inspect
from tests.calls import python
from tests.faults import LIMIT
from tests.processes import alive, wait_for
from tests.tables import cells


def tried(name, settings=None, tries=True):
    return inspect(lambda kind, value: None, f"tests.faults:{name}-v0", settings or {}, tries)


@pytest.mark.parametrize("name", ["Line", "Goal", "Exact"])
def test_what_its_seed_decides_is_admitted(name):
    found = tried(name)
    assert (found.refusal, found.unrepeatable, found.problem.env.fresh, found.tried) == ("", "", "", True)
    assert found.problem.env.max_episode_steps == LIMIT


@pytest.mark.parametrize(("name", "what"), [("Global", "start"), ("Noisy", "reward"), ("Ageing", "fresh object")])
def test_what_its_seed_does_not_decide_is_named(name, what):
    found = tried(name)
    assert what in found.unrepeatable
    assert found.record()["unrepeatable"] == found.unrepeatable


def test_a_fresh_object_that_ignores_its_seed_mends_nothing():
    """All its episodes would be one: each object begins with the same generator."""
    assert "start" in tried("Ignoring").unrepeatable
    assert tried("Ignoring", {"fresh": "object"}).unrepeatable == ""  # whoever asks for it gets it,
    assert "one sample" in tried("Ignoring", {"fresh": "object"}).described.remarks[0]  # and what it means


@pytest.mark.parametrize(("name", "fresh"), [("Settling", "reset"), ("Curriculum", "object"), ("Wearing", "object")])
def test_another_reset_or_another_object_is_chosen_where_it_helps(name, fresh):
    found = tried(name)
    assert (found.unrepeatable, found.problem.env.fresh) == ("", fresh)
    assert fresh in found.described.remarks[-1]


@pytest.mark.parametrize(("limit", "used"), [("", 24), ("PATIENCE", 0), ("SECONDS", 0)])
def test_each_stage_of_a_trial_is_told_before_it_begins(limit, used, monkeypatch):
    """And what a trial plays: three seeds, one of them again, an object that is used, all seeds again, a new object."""
    phases, closed, seeds = [], [], [7, 1_000_003, 2**31 - 1]
    monkeypatch.setattr("tests.faults.Line.close", lambda env: closed.append(env))
    for name in ("PATIENCE", "SECONDS"):
        monkeypatch.setattr(trial, name, -1.0 if name == limit else 60.0)
    inspect(lambda kind, value: phases.append(value), "tests.faults:Line-v0", {}, True)
    resets = [int(phase[11:-1]) for phase in phases if phase.startswith("reset")]
    assert resets == [*seeds, 7, *range(used), *seeds, 7]
    assert [phase for phase in phases if not phase.startswith(("reset", "step"))] == [
        "its import or its constructor", "close()", "its constructor", "its constructor",
        "its constructor, for the second time", "close()", "close()",
    ]  # fmt: skip
    assert len({*map(id, closed)}) == len(closed) == 3  # one for each of the phases
    steps = 2 if limit == "SECONDS" else LIMIT
    first = phases.index("reset(seed=7)")
    assert phases[first + 1 : first + steps + 1] == [f"step {step} after reset(seed=7)" for step in range(1, steps + 1)]
    assert phases[first + steps + 1] == "reset(seed=1000003)"


def test_what_a_user_chooses_is_tried_too():
    assert "reward" in tried("Curriculum", {"fresh": "reset"}).unrepeatable
    assert tried("Global", tries=False).record() == {"tried": False}


def test_what_is_strange_is_a_remark():
    constant = tried("Constant")
    assert constant.unrepeatable == ""
    assert "all seeds" in constant.described.remarks[0]


REFUSED = """
NormalizeReward      | NormalizeReward
NormalizeObservation | setting
Whole                | whole numbers
Growing              | size changes
Boundless            | unbounded
"""


@pytest.mark.parametrize(("name", "word"), cells(REFUSED))
def test_what_no_run_could_use_is_refused_without_a_trial(name, word):
    assert word in tried(name, tries=False).refusal


def test_an_exception_without_a_text_has_its_place():
    refusal = tried("Silent").refusal
    assert all(word in refusal for word in ("faults.py", "raise AssertionError"))


def test_an_action_that_a_step_changes_is_refused_and_no_random_number():
    assert "changes its action in step 1" in tried("InPlace").refusal


@pytest.mark.parametrize("how", ["vector reward", "list as info", "nan as reward", "huge"])
def test_a_step_that_is_none_is_refused_and_not_called_an_exception_of_the_environment(how):
    refusal = tried("Answers", {"how": how}).refusal
    assert "step 1" in refusal
    assert "raised" not in refusal


@pytest.mark.parametrize("layout", [(), ("a", "b")])
@pytest.mark.parametrize("remarks", [(), ("one", "two")])
@pytest.mark.parametrize("unrepeatable", ["", "reward"])
def test_an_admission_says_and_records_what_is_remarkable(layout, remarks, unrepeatable):
    described = SimpleNamespace(layout=layout, remarks=remarks)
    found = trial.Admission(described=described, unrepeatable=unrepeatable, tried=True)
    assert len(found.lines("x")) == bool(layout) + len(remarks) + bool(unrepeatable)
    known = {"unrepeatable": unrepeatable, "observation": [*layout], "remarks": [*remarks]}
    assert found.record() == {"tried": True} | {name: value for name, value in known.items() if value}


def wait(tell, seconds):
    tell("phase", "its nap")
    time.sleep(seconds)


def end(tell, code):
    os._exit(code)


def kill(tell, number):
    os.kill(os.getpid(), number)


def surroundings(tell):
    """What the process has of its environment; Ctrl-C and what is printed are not heard."""
    os.kill(os.getpid(), signal.SIGINT)
    os.write(1, b"[]\n")
    return [os.environ["CUDA_VISIBLE_DEVICES"], os.environ["OMP_NUM_THREADS"], sys.stdin.read()]


def wait_without_alarm(tell, seconds):
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    time.sleep(seconds)


def answer_and_wait(tell, value):
    tell("answer", value)
    time.sleep(60)


def test_a_process_has_a_limit_and_may_die_and_what_it_has_answered_counts(monkeypatch):
    for name in ("PYTHONSAFEPATH", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    assert Inspection(wait, 60, limit=0.2).answer() == (None, "it takes more than 0.2 s in its nap")
    assert Inspection(end, 3, limit=9.0).answer() == (None, "it ended its process in its import (exit code 3)")
    assert "written" in Inspection(end, errno.ENOSPC, limit=9.0).answer()[1]
    assert "SIGKILL" in Inspection(kill, int(signal.SIGKILL), limit=9.0).answer()[1]  # as where memory runs out
    assert "signal 40" in Inspection(kill, 40, limit=9.0).answer()[1]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # programs in the background ignore it
    assert Inspection(surroundings, limit=9.0).answer() == (["", "1", ""], "")
    signal.signal(signal.SIGINT, before)
    assert Inspection(answer_and_wait, (7, float("inf")), limit=0.2).answer() == ((7, float("inf")), "")
    assert not {"PYTHONSAFEPATH", "CUDA_VISIBLE_DEVICES"} & {*os.environ}  # which the other process had
    monkeypatch.setattr(inspection, "STARTING", 1.0)
    begun = time.monotonic()
    assert "more than 0.5 s" in Inspection(wait_without_alarm, 60, limit=0.5).answer()[1]
    assert 1.5 < time.monotonic() - begun < 30


def test_a_process_ends_whose_parent_was_gone_before_it_could_know():
    """Of a command that was interrupted while the process started; the environment may hang."""
    program = (
        "import os; from erlbench.work.inspection import Inspection; from tests.work.test_trial import wait\n"
        "print(Inspection(wait, 60, limit=60)._process.pid, flush=True); os._exit(0)"
    )
    pid = int(python("-c", program).stdout)
    wait_for(lambda: not alive([pid]), 30)


def test_a_process_finds_modules_of_the_current_folder_last(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    before, late = inspection.module_paths()
    assert late == [str(tmp_path), ""]
    assert [*late, *before] == sys.path
    monkeypatch.chdir(Path(inspection.__file__).parents[2])
    assert inspection.module_paths() == (sys.path, [])


def tell_much(tell, count):
    for number in range(count):
        tell("phase", f"step {number}")
    time.sleep(0.2)  # the driver looks every 10 ms
    return count


def test_of_all_lines_of_a_process_its_answer_alone_is_parsed(monkeypatch):
    loads = Mock(wraps=json.loads)
    monkeypatch.setattr(inspection.json, "loads", loads)
    assert Inspection(tell_much, 1000, limit=60.0).answer() == (1000, "")
    assert loads.call_count == 1


def test_threads_that_wait_for_one_process_get_the_same_answer(monkeypatch):
    """The one that sees its end closes the file that all others read."""
    read = Inspection._last_line

    def slowly(inspection, kind):
        time.sleep(0.01)
        return read(inspection, kind)

    monkeypatch.setattr(Inspection, "_last_line", slowly)
    inspection = Inspection(answer_and_wait, 7, limit=0.3)
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda number: inspection.answer(last=number % 2 == 0), range(8)))
    assert answers == [(7, "")] * 8
