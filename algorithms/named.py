"""Parts of algorithms by name: one of a table, or a user's MODULE:NAME."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from erlbench.errors import UsageError, nearest
from erlbench.machine import process


def find_named(what: str, name: str, table: Mapping[str, Any], kind: type) -> Any:
    """The `kind` (a class, or an instance) that `table` or MODULE:NAME names; a `UsageError` where there is none."""
    where = table.get(name, name)
    if not isinstance(where, str):
        return where
    module, _, attribute = where.partition(":")
    if not attribute:
        hint = nearest(name, table) or f"; there are {', '.join(table)}"
        raise UsageError(f"unknown {what} '{name}'{hint}, or MODULE:NAME of your own")
    if name not in table:
        process.name_module(module)
    try:
        value = getattr(importlib.import_module(module), attribute)
    except Exception as error:
        raise UsageError(f"{what} '{name}' cannot be imported: {type(error).__name__}: {error}") from error
    if kind is object or isinstance(value, kind) or (isinstance(value, type) and issubclass(value, kind)):
        return value
    raise UsageError(f"{what} '{name}' is no {kind.__module__}.{kind.__name__}")
