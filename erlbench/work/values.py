"""Plain values: nested containers and dataclasses as a sequence of leaves, and as JSON and back."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from erlbench.work.tasks import ArrayRef

SUITE = "erlbench"


class Length(int):
    """How many items of a container follow."""


def leaves(value: Any, chosen: Mapping[type, tuple[str, ...]] | None = None) -> Iterator[Any]:
    """What nested containers and dataclasses hold, depth first: of each container its `Length`, then its items.

    Of a dataclass that `chosen` names these are the fields that it lists, else all that its constructor takes.
    """
    if isinstance(value, ArrayRef):
        yield value
        return
    if isinstance(value, Mapping):
        items: Collection[Any] = [item for pair in value.items() for item in pair]
    elif isinstance(value, list | tuple | deque):
        items = value
    elif is_dataclass(value) and not isinstance(value, type):
        names = (chosen or {}).get(type(value)) or tuple(field.name for field in fields(value) if field.init)
        items = [getattr(value, name) for name in names]
    else:
        yield value
        return
    yield Length(len(items))
    for item in items:
        yield from leaves(item, chosen)


def references(value: Any) -> Iterator[ArrayRef]:
    """All array references in nested containers and dataclasses."""
    return (leaf for leaf in leaves(value) if isinstance(leaf, ArrayRef))


def encode(value: Any, arrays: dict[str, np.ndarray] | None) -> Any:
    """`value` as JSON; arrays go to `arrays` under numbered names.

    Knows None, bool, int, float, str, numpy scalars and arrays, list, tuple, deque, dict and dataclasses. Without
    `arrays`, an array and all else become a text.
    """
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value)
    if isinstance(value, np.ndarray) and arrays is not None:
        name = f"array:{len(arrays)}"
        arrays[name] = value
        return {"$array": name}
    if isinstance(value, list | tuple | deque):
        items = [encode(item, arrays) for item in value]
        if isinstance(value, deque):
            return {"$deque": items, "maxlen": value.maxlen}
        return {"$tuple": items} if isinstance(value, tuple) else items
    if isinstance(value, Mapping):
        return {"$dict": [encode([*pair], arrays) for pair in value.items()]}
    if is_dataclass(value) and not isinstance(value, type):
        table = {field.name: encode(getattr(value, field.name), arrays) for field in fields(value) if field.init}
        return {"$type": _type_name(type(value)), "fields": table}
    if arrays is None:
        return repr(value)
    raise TypeError(f"a checkpoint cannot hold a {type(value).__name__}: {value!r}")


def decode(value: Any, arrays: Mapping[str, np.ndarray], packages: Collection[str] = (SUITE,)) -> Any:
    """The inverse of `encode`; it makes dataclasses of modules that are loaded and belong to `packages`, no others."""

    def made(value: Any) -> Any:
        if isinstance(value, list):
            return [made(item) for item in value]
        if not isinstance(value, dict):
            return value
        if "$array" in value:
            return arrays[value["$array"]]
        if "$tuple" in value:
            return tuple(made(value["$tuple"]))
        if "$deque" in value:
            return deque(made(value["$deque"]), value["maxlen"])
        if "$dict" in value:
            return {tuple(key) if isinstance(key, list) else key: item for key, item in made(value["$dict"])}
        kind = _dataclass_named(value["$type"])
        if kind is None or kind.__module__.partition(".")[0] not in packages:
            raise ValueError(f"no checkpoint of this run holds a {str(value['$type'])[:80]!r}")
        return kind(**{name: made(item) for name, item in value["fields"].items()})

    return made(value)


def _type_name(kind: type) -> str:
    """The name by which `_dataclass_named` finds a dataclass again."""
    name = f"{kind.__module__}:{kind.__qualname__}"
    if _dataclass_named(name) is not kind:
        raise TypeError(f"a checkpoint cannot hold a {name}, which is not at the top level of its module")
    return name


def _dataclass_named(name: str) -> type | None:
    """The dataclass `module:name` of a loaded module: no checkpoint has a module imported."""
    module, _, class_name = name.partition(":")
    kind = getattr(sys.modules.get(module), class_name, None)
    return kind if isinstance(kind, type) and is_dataclass(kind) else None
