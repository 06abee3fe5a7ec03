"""Checkpoints: a round trip of everything that a state may hold, damage that is noticed, and what none may hold."""

import os
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from erlbench.running.checkpoint import SWEEP_FROM, DamagedCheckpoint, free_arrays, load_checkpoint, save_checkpoint
from erlbench.work.store import Store
from erlbench.work.tasks import ArrayRef, Output, Task
from erlbench.work.values import decode
from tests.files import cut, flip
from tests.forgery import dataclasses, forge
from tests.runs import all_rows, interrupt, make_cell, run

PACKAGES = ("erlbench", "tests")


@dataclass
class State:
    mean: np.ndarray
    lengths: deque
    flight: dict
    ratio: float


@pytest.fixture
def state():
    ref = ArrayRef("3.critic", (2,))
    task = Task(5, "rl", "m:f", (1, 2), {"x": None}, {"a": ref, "b": Output(4, "parameters")})
    return State(np.array([1.5, 1 / 3]), deque([1, 2], maxlen=10), {7: task, "text": (1, [2.5])}, 0.1 + 0.2)


def test_a_state_comes_back_exactly(tmp_path, state):
    (tmp_path / "part-000001" / "of a start that was killed").mkdir(parents=True)
    path = save_checkpoint(tmp_path, {"state": state, "flag": True}, {"3.critic": np.ones(2, np.float32)})
    payload, arrays = load_checkpoint(path, PACKAGES)
    back = payload["state"]
    np.testing.assert_array_equal(back.mean, state.mean)
    assert back.mean.dtype == np.float64
    assert (back.lengths, back.lengths.maxlen) == (state.lengths, 10)
    assert back.flight == state.flight
    assert back.ratio == state.ratio
    assert payload["flag"] is True
    np.testing.assert_array_equal(arrays["3.critic"], [1, 1])


@pytest.mark.parametrize("name", ["state.json", "arrays.safetensors"])
@pytest.mark.parametrize("damage", [cut, flip, Path.unlink])
def test_damage_is_noticed(tmp_path, state, name, damage):
    path = save_checkpoint(tmp_path, state, {})
    damage(path / name)
    with pytest.raises(DamagedCheckpoint):
        load_checkpoint(path, PACKAGES)


def test_what_cannot_be_found_again_is_refused_when_it_is_saved(tmp_path):
    @dataclass
    class Local:
        x: int

    for value, message in (({"x": object()}, "cannot hold a object"), (Local(1), "top level")):
        with pytest.raises(TypeError, match=message):
            save_checkpoint(tmp_path, value, {})


NO_STATES = ["subprocess:Popen", "erlbench.nowhere:State", "os:system", "State", "", f"{__name__}:State"]


@pytest.mark.parametrize("name", [*NO_STATES, "erlbench.running.folder:Lease"])
def test_no_class_is_made_that_is_no_dataclass_of_the_packages(name):
    with pytest.raises(ValueError, match="no checkpoint"):
        decode({"$type": name, "fields": {}}, {})


def field(kind, name, value):
    def edit(payload):
        for encoded in dataclasses(payload, kind):
            encoded["fields"][name] = value

    return edit


def of_pending(name, value):
    def edit(payload):
        pending = [*dataclasses(payload, ":Pending")]
        specs = [spec for encoded in pending for spec in dataclasses(encoded, ":PolicySpec")]
        assert specs
        for spec in specs:
            spec["fields"][name] = value

    return edit


def other_state(payload):
    (snapshot,) = (value["$dict"] for key, value in payload["$dict"] if key == "algorithm")
    snapshot[:] = [(key, {"$dict": []} if key == "state" else value) for key, value in snapshot]


@pytest.mark.parametrize(
    "edit",
    [
        field(":Task", "function", "cProfile:runctx"),
        field(":Task", "function", "erlbench.algorithms.gradients.updates:update_td3"),  # of another algorithm
        field(":ArrayRef", "name", "../../x"),
        field(":ArrayRef", "name", "999.none"),
        field(":EnvSpec", "id", "trap:Trap-v0"),
        other_state,
        of_pending("network", "os:system"),
        of_pending("sizes", {"$tuple": [3, 7, 2]}),
    ],
)
def test_a_state_that_names_functions_or_files_is_refused(tmp_path, capsys, edit):
    """The checksum fits."""
    cell = interrupt(make_cell("cem", tmp_path, steps=600), 27)
    before = all_rows(cell.directory)
    forge(cell.directory, edit)
    assert run(cell) == 1
    error = capsys.readouterr().err
    assert "cannot be used" in error
    assert "Traceback" not in error
    assert all_rows(cell.directory) == before


@pytest.mark.parametrize(("count", "live", "left"), [(63, 10, 63), (64, 10, 11), (400, 200, 201)])
def test_arrays_that_nothing_names_are_freed_where_there_are_many(tmp_path, count, live, left):
    """Those that a task which is out may be writing stay; the next search comes when as many more may be found."""
    store, run = Store(tmp_path), Mock(sweep_at=SWEEP_FROM)
    refs = [store.put(f"{number}.x", np.ones(1)) for number in range(1, count + 1)]
    run.pool.store, run.graph.tasks = store, {count: Task(count, "es", "a:b", ())}
    run.algorithm.snapshot.return_value, run.evaluations.state, run.order.undelivered = refs[:live], None, {}
    free_arrays(run)
    assert len(os.listdir(tmp_path)) == left
    assert f"{count}.x" in os.listdir(tmp_path)
    assert run.sweep_at == (64 if left == count else left + max(64, live // 2))
