"""Checkpoints: a round trip of everything that a state may hold, and damage that is noticed."""

import importlib
from collections import deque
from dataclasses import MISSING, dataclass, fields

import numpy as np
import pytest

from erlbench.algorithms import openai_es, ppo
from erlbench.records.older import fields_of_today, type_of_today
from erlbench.running.checkpoint import checkpoints, load_checkpoint, save_checkpoint
from erlbench.running.encoding import DamagedCheckpoint, dataclass_named, decode, references
from erlbench.work.tasks import ArrayRef, Output, Task
from tests.checkpoints import known


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
    path = save_checkpoint(tmp_path, {"state": state, "flag": True}, {"3.critic": np.ones(2, np.float32)})
    payload, arrays = load_checkpoint(path, dataclass_named)
    back = payload["state"]
    np.testing.assert_array_equal(back.mean, state.mean)
    assert back.mean.dtype == np.float64
    assert (back.lengths, back.lengths.maxlen) == (state.lengths, 10)
    assert back.flight == state.flight
    assert back.ratio == state.ratio
    assert payload["flag"] is True
    np.testing.assert_array_equal(arrays["3.critic"], [1, 1])


def test_references_are_found_in_nested_values(state):
    assert [ref.name for ref in references({"s": [state, (ArrayRef("9.x", (1,)),)]})] == ["3.critic", "9.x"]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("erlbench.algorithms.openai_es:Generation", openai_es.Gathered),
        ("erlbench.algorithms.ppo:PPOSettings", ppo.PPOSettings),
        ("erlbench.algorithms.ppo:PPOIteration", ppo.PPOIteration),
    ],
)
def test_what_had_another_name_or_module_is_found(name, found):
    """Checkpoints of older versions name these so; each of their fields is still there."""
    values = {field.name: None for field in fields(found)}
    assert decode({"$type": name, "fields": values}, {}, dataclass_named) == found(**values)


@pytest.mark.parametrize("name", known())
def test_checkpoints_of_this_format_stay_readable(name):
    """A dataclass keeps its fields, and new ones have defaults; if it moves, `renamed.py` has the old name."""
    importlib.import_module(type_of_today(name)[0])
    taken = [field for field in fields(dataclass_named(name)) if field.init]
    required = {field.name for field in taken if field.default is field.default_factory is MISSING}
    names = set(fields_of_today(name, dict.fromkeys(known()[name])))
    assert required <= names <= {field.name for field in taken}


def test_the_last_two_are_kept_newest_first(tmp_path):
    for number in range(4):
        save_checkpoint(tmp_path, {"number": number}, {})
    assert [load_checkpoint(path, dataclass_named)[0]["number"] for path in checkpoints(tmp_path)] == [3, 2]


@pytest.mark.parametrize("name", ["state.json", "arrays.safetensors"])
@pytest.mark.parametrize("damage", ["truncate", "flip", "remove"])
def test_damage_is_noticed(tmp_path, state, name, damage):
    path = save_checkpoint(tmp_path, state, {})
    data = bytearray((path / name).read_bytes())
    data[len(data) // 2] ^= 1
    if damage == "remove":
        (path / name).unlink()
    else:
        (path / name).write_bytes(data[: len(data) // 2] if damage == "truncate" else data)
    with pytest.raises(DamagedCheckpoint):
        load_checkpoint(path, dataclass_named)


def test_an_object_that_is_no_plain_data_is_refused(tmp_path):
    with pytest.raises(TypeError, match="cannot hold a object"):
        save_checkpoint(tmp_path, {"x": object()}, {})


def test_a_checkpoint_of_another_version_says_so(tmp_path, state, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("erlbench.running.checkpoint.FORMAT", 1)
        path = save_checkpoint(tmp_path, state, {})
    with pytest.raises(DamagedCheckpoint, match=r"format 1, here 3"):
        load_checkpoint(path, dataclass_named)


def test_a_class_that_cannot_be_found_again_is_refused_when_it_is_saved(tmp_path):
    @dataclass
    class Local:
        x: int

    with pytest.raises(TypeError, match="top level"):
        save_checkpoint(tmp_path, Local(1), {})


def test_a_file_cannot_name_what_is_no_dataclass_or_not_loaded(tmp_path):
    for name in ("subprocess:Popen", "erlbench.nowhere:State", "os:system", "State", ""):
        with pytest.raises(DamagedCheckpoint, match="no checkpoint"):
            decode({"$type": name, "fields": {}}, {}, dataclass_named)


def test_a_file_that_somebody_made_gigabytes_long_is_damaged_and_not_read(tmp_path):
    path = save_checkpoint(tmp_path, {"a": 1}, {"x": np.ones(3, np.float32)})
    for name in ("arrays.safetensors", "state.json"):
        whole = (path / name).read_bytes()
        with open(path / name, "r+b") as file:
            file.truncate(200 << 30)
        with pytest.raises(DamagedCheckpoint, match="larger than"):
            load_checkpoint(path, dataclass_named)
        (path / name).write_bytes(whole)
    payload, arrays = load_checkpoint(path, dataclass_named)
    assert payload == {"a": 1}
    assert arrays["x"].tolist() == [1.0, 1.0, 1.0]
