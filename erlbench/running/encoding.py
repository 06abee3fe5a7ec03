"""Checkpoints as plain values: nested containers and dataclasses to JSON and back, arrays beside them."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from erlbench.records.older import fields_of_today, type_of_today
from erlbench.work.tasks import ArrayRef

Find = Callable[[str], type | None]


class DamagedCheckpoint(Exception):
    """A checkpoint that cannot be read."""


def references(value: Any) -> Iterator[ArrayRef]:
    """All array references in nested containers and dataclasses."""
    if isinstance(value, ArrayRef):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from references(item)
    elif isinstance(value, list | tuple | deque):
        for item in value:
            yield from references(item)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from references(getattr(value, field.name))


def dataclasses_in(value: Any) -> Iterator[Any]:
    """All dataclasses in nested containers and dataclasses, as keys and as values."""
    if isinstance(value, Mapping):
        for pair in value.items():
            yield from dataclasses_in(pair)
    elif isinstance(value, list | tuple | deque):
        for item in value:
            yield from dataclasses_in(item)
    elif is_dataclass(value) and not isinstance(value, type):
        yield value
        for field in fields(value):
            yield from dataclasses_in(getattr(value, field.name))


def encode(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """`value` as JSON; arrays go to `arrays` under numbered names.

    Knows None, bool, int, float, str, numpy scalars and arrays, list, tuple, deque, dict and dataclasses.
    """
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value)
    if isinstance(value, np.ndarray):
        name = f"array:{len(arrays)}"
        arrays[name] = value
        return {"$array": name}
    if isinstance(value, list):
        return [encode(item, arrays) for item in value]
    if isinstance(value, tuple):
        return {"$tuple": [encode(item, arrays) for item in value]}
    if isinstance(value, deque):
        return {"$deque": [encode(item, arrays) for item in value], "maxlen": value.maxlen}
    if isinstance(value, Mapping):
        return {"$dict": [[encode(key, arrays), encode(item, arrays)] for key, item in value.items()]}
    if is_dataclass(value) and not isinstance(value, type):
        items = {field.name: encode(getattr(value, field.name), arrays) for field in fields(value) if field.init}
        return {"$type": _type_name(type(value)), "fields": items}
    raise TypeError(f"a checkpoint cannot hold a {type(value).__name__}: {value!r}")


def decode(value: Any, arrays: Mapping[str, np.ndarray], find: Find) -> Any:
    """The inverse of `encode`; `find` gives the dataclass of a name, or None for one that must not be made."""
    if isinstance(value, list):
        return [decode(item, arrays, find) for item in value]
    if not isinstance(value, dict):
        return value
    if "$array" in value:
        return arrays[value["$array"]]
    if "$tuple" in value:
        return tuple(decode(item, arrays, find) for item in value["$tuple"])
    if "$deque" in value:
        return deque((decode(item, arrays, find) for item in value["$deque"]), value["maxlen"])
    if "$dict" in value:
        return {_hashable(decode(key, arrays, find)): decode(item, arrays, find) for key, item in value["$dict"]}
    found = find(value["$type"])
    if found is None:
        raise DamagedCheckpoint(f"no checkpoint of this run holds a {str(value['$type'])[:80]!r}")
    fields = fields_of_today(value["$type"], value["fields"])
    items = {name: decode(item, arrays, find) for name, item in fields.items()}
    return found(**items)


def _type_name(kind: type) -> str:
    """The name by which `dataclass_named` finds a dataclass again."""
    name = f"{kind.__module__}:{kind.__qualname__}"
    if dataclass_named(name) is not kind:
        raise TypeError(f"a checkpoint cannot hold a {name}, which is not at the top level of its module")
    return name


def dataclass_named(name: str) -> type | None:
    """The dataclass `module:name`, perhaps its old name, of a loaded module: no checkpoint has a module imported."""
    module, own = type_of_today(name)
    found = getattr(sys.modules.get(module), own, None)
    return found if isinstance(found, type) and is_dataclass(found) else None


def _hashable(key: Any) -> Any:
    return tuple(key) if isinstance(key, list) else key
