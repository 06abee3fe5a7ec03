"""Plain values as JSON and back."""

import json
from collections import deque
from dataclasses import dataclass

import numpy as np
import pytest

from erlbench.work.tasks import ArrayRef, Task
from erlbench.work.values import decode, encode, leaves

VALUES = [
    None, True, 3, -0.0, float("inf"), "$array", [], [1, [2.5]], (1, (2,)), {"a": (1,)}, {(1, "b"): [2], 3: {}},
    deque([1, (2,)], maxlen=4), deque(),
    Task(1, "es", "a:b", (1, 2), {"x": [ArrayRef("y", (2, 3))]}, {}, 0, 0, after=(3,)),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_comes_back_as_what_it_was(value):
    found = decode(json.loads(json.dumps(encode(value, None))), {})
    assert (type(found), repr(found)) == (type(value), repr(value))


def test_arrays_are_kept_apart_and_what_no_checkpoint_can_hold_is_refused():
    arrays, value = {}, [np.float32(0.5), np.int64(2), np.arange(3), (np.zeros(0),)]
    half, two, array, (empty,) = decode(json.loads(json.dumps(encode(value, arrays))), arrays)
    assert [half, type(half), two, type(two)] == [0.5, float, 2, int]
    assert (array is value[2], empty is value[3][0], encode({1}, None)) == (True, True, "{1}")
    local = dataclass(type("Local", (), {}))
    for bad in (local(), local, Task, {1}):
        with pytest.raises(TypeError):
            encode(bad, arrays)
    for name, package in (("erlbench.work.tasks:Task", "other"), ("erlbench.work.tasks:Priority", "erlbench")):
        with pytest.raises(ValueError, match="no checkpoint of this run holds"):
            decode({"$type": name, "fields": {}}, {}, (package,))


def test_leaves_are_lengths_and_what_containers_hold():
    ref = ArrayRef("a", (1,))
    assert [*leaves({"x": [1, (ref,)], "y": Task})] == [4, "x", 2, 1, 1, ref, "y", Task]
    assert [*leaves(Task(7, "es", "a:b", ()), {Task: ("kind", "id")})] == [2, "es", 7]
