"""Files of runs, as tests read and edit them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def edit(path: Path, old: str, new: str) -> None:
    """Replace a text that the file has, where it stands first."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def flip(path: Path, place: int | None = None) -> None:
    """Flip a bit of the byte at a place, by default at a third of the file."""
    data = bytearray(path.read_bytes())
    data[len(data) // 3 if place is None else place] ^= 4
    path.write_bytes(data)


def cut(path: Path) -> None:
    """Leave the first half of a file."""
    os.truncate(path, path.stat().st_size // 2)


def edit_json(path: Path, change: Callable[[Any], object] = lambda values: None, **more: Any) -> None:
    """Have `change` edit the object of a JSON file, and set more of its keys."""
    values = read_json(path)
    change(values)
    path.write_text(json.dumps(values | more, indent=2) + "\n")


def edit_rows(path: Path, **columns: Any) -> None:
    """Set columns of a CSV file, each to one value or to a list of values."""
    pd.read_csv(path, dtype=str, keep_default_na=False).assign(**columns).to_csv(path, index=False)


def contents(folder: Path) -> dict[str, bytes]:
    """All files, but for the lock and the lease of a run."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(("lock", "lease-")))
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}
