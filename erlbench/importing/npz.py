"""Numeric arrays of an npz file of somebody else: no pickle, and no more memory than the file's members have bytes."""

from __future__ import annotations

import zipfile
import zlib
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

from erlbench.importing.source import LARGEST, refuse


def arrays(path: Path, data: bytes, names: tuple[str, ...], optional: tuple[str, ...] = ()) -> dict[str, np.ndarray]:
    """The named arrays of an archive; those of `optional` where it has them. `UsageError` for anything else."""
    found = {}
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            members = {info.filename: info for info in archive.infolist()}
            wanted = [name for name in (*names, *optional) if name in names or f"{name}.npy" in members]
            if missing := [name for name in wanted if f"{name}.npy" not in members]:
                refuse(path, f"it has no array {', '.join(missing)}")
            if sum(members[f"{name}.npy"].file_size for name in wanted) > LARGEST:
                refuse(path, f"it unpacks to more than {LARGEST >> 20} MiB")
            for name in wanted:
                found[name] = _array(path, name, archive.read(members[f"{name}.npy"]))
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, OSError, EOFError, ValueError) as error:
        refuse(path, f"it is no archive of numpy ({error})")
    return found


def _array(path: Path, name: str, data: bytes) -> np.ndarray:
    """One member; its header may claim no more numbers than there are bytes."""
    file = BytesIO(data)
    read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}.get(npy.read_magic(file))
    if read is None:
        refuse(path, f"the array {name} has a version of the format that is not known")
    shape, _, dtype = read(file)
    if dtype.kind == "O":
        refuse(path, f"the array {name} holds Python objects, which are not read: they could run code")
    if dtype.kind not in "iuf":
        refuse(path, f"the array {name} holds no numbers")
    size = dtype.itemsize
    for length in shape:
        size *= length
    if size != len(data) - file.tell():
        refuse(path, f"the array {name} has not the size that it claims")
    return npy.read_array(BytesIO(data), allow_pickle=False)
