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
    arrays = {}
    found = decode(json.loads(json.dumps(encode(value, arrays))), arrays)
    assert (found, type(found), repr(found)) == (value, type(value), repr(value))
    assert getattr(found, "maxlen", None) == getattr(value, "maxlen", None)
    assert encode(value, None) == encode(value, arrays)
    assert arrays == {}


def test_numbers_of_numpy_become_pythons_and_arrays_are_kept_apart():
    arrays, value = {}, [np.float32(0.5), np.int64(2), np.arange(3), (np.zeros(0),)]
    text = json.dumps(encode(value, arrays))
    half, two, array, (empty,) = decode(json.loads(text), arrays)
    assert [(half, type(half)), (two, type(two))] == [(0.5, float), (2, int)]
    assert array is value[2]
    assert empty is value[3][0]
    assert encode(value[2], None) == repr(value[2])


def test_what_no_checkpoint_can_hold_is_refused():
    @dataclass
    class Inner:
        x: int = 0

    for value, error in ((Inner(), TypeError), (Inner, TypeError), (Task, TypeError), ({1}, TypeError)):
        with pytest.raises(error):
            encode(value, {})
    assert encode({1}, None) == "{1}"
    fields = {"id": 1, "kind": "a", "function": "b", "key": []}
    task = {"$type": "erlbench.work.tasks:Task", "fields": fields}
    assert decode(task, {}) == Task(1, "a", "b", [])
    for bad, packages in ((task, ("other",)), (task | {"$type": "erlbench.work.tasks:Priority"}, ("erlbench",)),
                          (task | {"$type": "no_such:Task"}, ("no_such",))):  # fmt: skip
        with pytest.raises(ValueError, match="no checkpoint of this run holds"):
            decode(bad, {}, packages)


def test_leaves_are_lengths_and_what_containers_hold():
    ref = ArrayRef("a", (1,))
    assert [*leaves({"x": [1, (ref,)], "y": Task})] == [4, "x", 2, 1, 1, ref, "y", Task]
    assert [*leaves(Task(7, "es", "a:b", ()), {Task: ("kind", "id")})] == [2, "es", 7]
