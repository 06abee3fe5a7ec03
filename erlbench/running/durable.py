"""Writing so that neither a kill nor the loss of power leaves half a file: written aside, synchronised, renamed."""

from __future__ import annotations

import os
from pathlib import Path

from erlbench.files import new_file


def write_durably(path: Path, data: bytes) -> None:
    """Replace the file `path`: whoever reads it, also after a loss of power, sees the old or the new one, whole."""
    part = path.with_name(path.name + ".part")
    with open(new_file(part), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    part.rename(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Have the names in `folder` reach the disk: files that were made, renamed or removed there."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, so that they outlast a loss of power."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for path in missing:
        sync_folder(path.parent)
