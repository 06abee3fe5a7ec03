"""Continuing a run whose checkpoint somebody else made: no code, file or environment that the command does not name."""

import shutil
from dataclasses import dataclass, replace

import pytest

from erlbench.algorithms.cem import CEM
from erlbench.algorithms.td3 import TD3
from erlbench.running.vocabulary import conforms
from erlbench.work.tasks import ArrayRef, Perturbed
from tests.forgery import dataclasses, forge, tasks
from tests.runs import all_rows, interrupt, make_cell, run


@dataclass
class Innocent:
    """A dataclass of a loaded module that no checkpoint of CEM holds."""

    x: int = 0


@pytest.fixture(scope="module")
def half(tmp_path_factory):
    """Half-done cells of a search and of a learner, to be copied."""
    out = tmp_path_factory.mktemp("half")
    results = {"cem": 27, "aes-rl": 200}  # in the middle of a generation; when there is something to learn from
    return {algo: interrupt(make_cell(algo, out, steps=1500), number) for algo, number in results.items()}


def function(name, settings=None, inputs=None):
    """Have each task call a function with these settings."""

    def edit(payload):
        assert tasks(payload)
        for task in tasks(payload):
            task["function"] = name
            task["settings"] = task["settings"] if settings is None else settings
            task["inputs"] = task["inputs"] if inputs is None else inputs

    return edit


def field(kind, name, value):
    """Have a field of all dataclasses of a kind hold another value."""

    def edit(payload):
        found = list(dataclasses(payload, kind))
        assert found
        for one in found:
            one["fields"][name] = value

    return edit


def state(value):
    """Another state of the algorithm."""

    def edit(payload):
        for key, part in payload["$dict"]:
            if key == "algorithm":
                (pair,) = [pair for pair in part["$dict"] if pair[0] == "state"]
                pair[1] = value

    return edit


def renamed(kind, name):
    """Another class in place of those of a kind."""

    def edit(payload):
        for one in dataclasses(payload, kind):
            one["$type"] = name

    return edit


NOTHING = {"$dict": []}
ATTACKS = {
    "a shell command": ("cem", function("cProfile:runctx", "open('sprung', 'w')", NOTHING)),
    "a function of another algorithm": ("cem", function("erlbench.algorithms.gradients.updates:update_td3")),
    "a function of the suite that is no task": ("cem", function("erlbench.work.rollout:play")),
    "a function of the test's own module": ("cem", function(f"{__name__}:sprung")),
    "a function with other settings": ("cem", function("erlbench.work.rollout:rollout", NOTHING)),
    "a dataclass of another module": ("cem", state({"$type": f"{__name__}:Innocent", "fields": {"x": 1}})),
    "another state": ("cem", state(NOTHING)),
    "settings of another class": ("aes-rl", renamed(":Updates", "erlbench.envs.registry:EnvSpec")),
    "an environment of a module": ("cem", field(":EnvSpec", "id", "trap:Trap-v0")),
    "an environment with other settings": ("cem", field(":EnvSpec", "kwargs", {"$dict": [["frame_skip", 10**9]]})),
    "a path for an array": ("cem", field(":ArrayRef", "name", "/etc/passwd")),
    "a path above for an array": ("cem", field(":ArrayRef", "name", "1.x/../../../x")),
    "the lock for an array": ("cem", field(":ArrayRef", "name", "lock")),
    "objects for numbers": ("cem", field(":ArrayRef", "dtype", "object")),
    "another shape": ("cem", field(":ArrayRef", "shape", {"$tuple": [10**12]})),
    "a path for the replay": ("aes-rl", field(":ReplayView", "replay", "/etc")),
    "a text for a number": ("cem", field(":RolloutSettings", "episodes", "x")),
    "a huge network": ("cem", field(":PolicySpec", "sizes", {"$tuple": [4, 10**9, 1]})),
}


@pytest.mark.parametrize("what", ATTACKS)
def test_a_checkpoint_that_says_what_the_command_does_not_is_refused(what, half, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    algo, attack = ATTACKS[what]
    cell = replace(half[algo], out=tmp_path / "results")
    shutil.copytree(half[algo].directory, cell.directory)
    forge(cell.directory, attack)
    before = all_rows(cell.directory)
    assert run(cell) == 1
    error = capsys.readouterr().err
    assert str(cell.directory) in error
    assert "cannot be used" in error
    assert "Traceback" not in error
    assert not (tmp_path / "sprung").exists()
    assert all_rows(cell.directory) == before


def test_a_checkpoint_that_says_nothing_else_is_continued(half, tmp_path):
    cell = replace(half["cem"], out=tmp_path / "results")
    shutil.copytree(half["cem"].directory, cell.directory)
    forge(cell.directory, lambda payload: None)
    assert run(cell) == 0


def sprung(*arguments):
    raise AssertionError


class Plugged(CEM):
    """An algorithm of another package."""


def test_an_algorithm_declares_functions_of_its_own_module_and_no_others():
    assert TD3.declares("erlbench.work.rollout:rollout")
    assert not TD3.declares("erlbench.algorithms.td3:initial_learner")
    assert Plugged.declares(f"{__name__}:sprung")
    for name in (f"{__name__}:run", f"{__name__}:Plugged", f"{__name__}:nothing", "os:system", "", ":", "x"):
        assert not Plugged.declares(name)


def test_an_algorithm_that_names_an_undeclared_function_is_told_when_it_asks(tmp_path, monkeypatch, capsys):
    asked = CEM._ask
    monkeypatch.setattr(CEM, "_ask", lambda self: [replace(task, function="os:system") for task in asked(self)])
    assert run(make_cell("cem", tmp_path)) == 1
    assert "does not declare" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("value", "hint", "does"),
    [
        (1, int, True), (True, int, False), (1, float, True), ("1", float, False), (None, int | None, True),
        ((1, 2), tuple[int, ...], True), ((1, "2"), tuple[int, ...], False), ((1, "a"), tuple[int, str], True),
        ((1,), tuple[int, str], False), ([1], list[int], True), ((1,), list[int], False),
        ({1: [2.0]}, dict[int, list[float]], True), ({"1": []}, dict[int, list[float]], False),
        (ArrayRef("1.x", (2,)), Perturbed | ArrayRef, True), (Innocent(), Perturbed | ArrayRef, False),
    ],
)  # fmt: skip
def test_a_value_conforms_to_its_annotation(value, hint, does):
    assert conforms(value, hint) is does
