"""Checkpoints without pickle: plain values as JSON, arrays as safetensors, the last two kept.

A checkpoint is a folder `checkpoint/<number>` that appears by a rename when it is complete. Its `state.json` holds
a checksum over itself and the arrays, so a damaged one is noticed and the one before is used.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load, save

from erlbench.files import LARGE, read_bytes
from erlbench.records.older import type_of_today
from erlbench.running.durable import sync_folder, write_durably
from erlbench.work.tasks import ArrayRef

KEEP = 2
LARGEST = 2**36  # bytes of a file
FORMAT = 3  # of a run's files; another number for every change of what they are made of
READABLE = (2, 3)  # formats of checkpoints; 2 has simulated time in floats, so such a run cannot go on
_FORMAT = re.compile(rb'\{"format": (\d+),')


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


def decode(value: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """The inverse of `encode`."""
    if isinstance(value, list):
        return [decode(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    if "$array" in value:
        return arrays[value["$array"]]
    if "$tuple" in value:
        return tuple(decode(item, arrays) for item in value["$tuple"])
    if "$deque" in value:
        return deque((decode(item, arrays) for item in value["$deque"]), value["maxlen"])
    if "$dict" in value:
        return {_hashable(decode(key, arrays)): decode(item, arrays) for key, item in value["$dict"]}
    found = dataclass_named(value["$type"])
    if found is None:
        raise DamagedCheckpoint(f"there is no dataclass {value['$type']} here")
    items = {name: decode(item, arrays) for name, item in value["fields"].items()}
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


def save_checkpoint(
    folder: Path, payload: Any, arrays: Mapping[str, np.ndarray], keep: int = KEEP, number: int | None = None
) -> Path:
    """Write `payload` (anything that `encode` takes) and named `arrays` as the newest checkpoint in `folder`.

    The last `keep` of them stay. One with a given `number` takes that place, and all stay.
    """
    if number is None:
        number = max(_numbers(folder), default=0) + 1
    else:
        keep = number
        shutil.rmtree(folder / f"{number:06d}", ignore_errors=True)
    collected = dict(arrays)
    text = json.dumps({"format": FORMAT, "payload": encode(payload, collected)})
    data = save({name: np.ascontiguousarray(array) for name, array in collected.items()})
    part = folder / f"part-{number:06d}"
    shutil.rmtree(part, ignore_errors=True)
    folder.mkdir(exist_ok=True)  # not what is above it: whoever removes a run directory does not get it back
    part.mkdir()
    write_durably(part / "arrays.safetensors", data)
    write_durably(part / "state.json", f"{_checksum(text.encode(), data)}\n{text}\n".encode())
    final = folder / f"{number:06d}"
    part.rename(final)
    sync_folder(folder)
    for old in _numbers(folder)[:-keep]:
        shutil.rmtree(folder / f"{old:06d}", ignore_errors=True)
    return final


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoints in `folder`, newest first."""
    return [folder / f"{number:06d}" for number in reversed(_numbers(folder))]


def format_of(folder: Path) -> int | None:
    """The format of the newest checkpoint in `folder`; None where there is none, or it does not say."""
    for path in checkpoints(folder)[:1]:
        with suppress(OSError), open(path / "state.json", "rb") as file:
            if found := _FORMAT.match(file.read(256).partition(b"\n")[2]):
                return int(found[1])
    return None


def unreadable(found: object, simulated: bool = False) -> str:
    """Why a checkpoint of this format cannot be gone on from; empty where it can."""
    if found not in READABLE:
        return f"another version of erlbench wrote it (format {found}, here {FORMAT})"
    if simulated and found == 2:
        return "an older version of erlbench wrote it, whose simulated time was rounded (format 2)"
    return ""


def load_checkpoint(path: Path) -> tuple[Any, dict[str, np.ndarray]]:
    """Payload and named arrays of one checkpoint; raises `DamagedCheckpoint`."""
    try:
        checksum, newline, text = read_bytes(path / "state.json").partition(b"\n")
        data = _arrays(path / "arrays.safetensors")
        if not newline or checksum.decode("ascii", "replace") != _checksum(text.rstrip(b"\n"), data):
            raise DamagedCheckpoint("its checksum does not fit")
        stored = json.loads(text)
        if reason := unreadable(stored["format"]):
            raise DamagedCheckpoint(reason)
        arrays = load(data)
        return decode(stored["payload"], arrays), arrays
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise DamagedCheckpoint(str(error)) from error


def _arrays(path: Path) -> bytes:
    """A file of safetensors; one of another size than its header says is not read, as it may fill the memory."""
    length = int.from_bytes(read_bytes(path, LARGEST, 8), "little")
    if length > LARGE:
        raise DamagedCheckpoint("its arrays have no header")
    header = json.loads(read_bytes(path, LARGEST, 8 + length)[8:])
    ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
    return read_bytes(path, 8 + length + max(ends, default=0))


def _numbers(folder: Path) -> list[int]:
    return sorted(int(path.name) for path in folder.glob("[0-9]*") if path.name.isdigit())


def _checksum(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def _hashable(key: Any) -> Any:
    return tuple(key) if isinstance(key, list) else key
