"""Checkpoints without pickle: plain values as JSON, arrays as safetensors, the last two kept.

A checkpoint is a folder `checkpoint/<number>` that appears by a rename when it is complete. Its `state.json` holds
a checksum over itself and the arrays, so a damaged one is noticed and the one before is used.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load, save

from erlbench.files import read_bytes, sync_folder, write_durably
from erlbench.records.run import FORMAT
from erlbench.work.values import SUITE, decode, encode

KEEP = 2
LARGEST = 2**36  # bytes of a file
UNREADABLE = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)  # of a damaged file
WRITERS = {2: "0.1.0", 3: "0.2.0"}  # the last version that wrote a format of before


class DamagedCheckpoint(Exception):
    """A checkpoint that cannot be read."""


def save_checkpoint(folder: Path, payload: Any, arrays: Mapping[str, np.ndarray], keep: int = KEEP) -> Path:
    """Write `payload` (anything that `encode` takes) and named `arrays` as the newest checkpoint in `folder`.

    The last `keep` of them stay.
    """
    number = max(_numbers(folder), default=0) + 1
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
        with suppress(*UNREADABLE):
            _, _, text = read_bytes(path / "state.json", inside=3).partition(b"\n")
            return int(json.loads(text)["format"])
    return None


def unreadable(written: Any) -> str:
    """Why a checkpoint of this format cannot be gone on from; empty where it can."""
    if written == FORMAT:
        return ""
    writer = f"version {WRITERS[written]}" if written in WRITERS else "another version"
    return f"{writer} of erlbench wrote it (format {written}, here {FORMAT})"


def load_checkpoint(path: Path, packages: Collection[str] = (SUITE,)) -> tuple[Any, dict[str, np.ndarray]]:
    """Payload and named arrays of one checkpoint, with dataclasses of `packages` alone; raises `DamagedCheckpoint`."""
    try:
        checksum, newline, text = read_bytes(path / "state.json", inside=3).partition(b"\n")
        data = read_bytes(path / "arrays.safetensors", LARGEST, inside=3)
        if not newline or checksum.decode("ascii", "replace") != _checksum(text.rstrip(b"\n"), data):
            raise DamagedCheckpoint("its checksum does not fit")
        stored = json.loads(text)
        if reason := unreadable(stored["format"]):
            raise DamagedCheckpoint(reason)
        arrays = load(data)
        return decode(stored["payload"], arrays, packages), arrays
    except UNREADABLE as error:
        raise DamagedCheckpoint(str(error)) from error


def _numbers(folder: Path) -> list[int]:
    return sorted(int(path.name) for path in folder.glob("[0-9]*") if path.name.isdigit())


def _checksum(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()
