"""Which dataclasses checkpoints of this format name, with the fields that they had: later versions must read them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("checkpoints.json")


def known() -> dict[str, list[str]]:
    """Fields by `module:class`."""
    return json.loads(FILE.read_text())


def types_in(encoded: Any) -> dict[str, set[str]]:
    """Fields by `module:class` of all dataclasses in what `encode` gave."""
    found: dict[str, set[str]] = {}
    waiting = [encoded]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            waiting += value.values()
            if "$type" in value:
                found.setdefault(value["$type"], set()).update(value["fields"])
    return found
