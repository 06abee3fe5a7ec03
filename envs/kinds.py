"""Whether a value of `--env-set` is of the kind that an environment's signature says, and that kind in words."""

from __future__ import annotations

import collections.abc
import enum
import inspect
import os
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

NONE = "none"  # how a command says None, which TOML cannot
WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text", type(None): NONE}
LISTS = (list, tuple, set, frozenset, np.ndarray, collections.abc.Sequence, collections.abc.Iterable)


def annotations_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of a function's parameters, as types; those that cannot be found are left out."""
    found = {name: parameter.annotation for name, parameter in inspect.signature(function).parameters.items()}
    known: dict[str, Any] = {}
    for name, hint in found.items():
        if isinstance(hint, str):  # `from __future__ import annotations`
            try:
                hint = eval(hint, vars(inspect.getmodule(function)), {}) if inspect.getmodule(function) else Any
            except Exception:  # of a name that only type checkers see
                continue
        if hint is not inspect.Parameter.empty:
            known[name] = hint
    return known


def fits(value: Any, hint: Any) -> bool:
    """Whether a plain value is of an annotated kind; of a kind that no plain value can show, it is taken to be."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if hint in (None, type(None)):
        return value is None
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, part) for part in parts)
    if origin is typing.Annotated:
        return fits(value, parts[0])
    if origin is Literal:
        return value in parts
    kind = origin or hint
    if kind is bool:
        return isinstance(value, bool)
    if kind in (int, float, complex):
        return _is_number(value, kind is int)
    if kind is str or kind is os.PathLike:
        return isinstance(value, str)
    if kind is tuple and parts and parts[-1] is not Ellipsis and parts != ((),):
        return isinstance(value, (list, tuple)) and len(value) == len(parts) and all(map(fits, value, parts))
    if kind in LISTS:
        inner = [part for part in parts if part is not Ellipsis][:1] if kind is not np.ndarray else []
        return isinstance(value, (list, tuple)) and all(fits(item, part) for item in value for part in inner)
    if kind in (dict, collections.abc.Mapping):
        return isinstance(value, Mapping) and all(fits(item, part) for item in value.values() for part in parts[1:])
    return True


def kind_in_words(hint: Any) -> str:
    """An annotated kind as a user reads it: "a whole number, or a text"."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if hint is None:
        return NONE
    if origin in (typing.Union, types.UnionType):
        return ", or ".join(map(kind_in_words, parts))
    if origin is Literal:
        return f"one of {', '.join(map(str, parts))}"
    if origin is tuple and parts and parts[-1] is not Ellipsis:
        example = ", ".join(str(index / 10) for index in range(1, len(parts) + 1))
        return f"a list of {len(parts)} items, such as [{example}]"
    kind = origin or hint
    if kind in LISTS:
        return "a list such as [0.1, 0.2]"
    if kind in (dict, collections.abc.Mapping):
        return "a table such as {a=1}"
    return WORDS.get(kind) or str(getattr(kind, "__name__", kind))


def of_default(default: Any) -> Any:
    """The kind that a default suggests where nothing is annotated; `Any` where it suggests none."""
    if isinstance(default, (bool, str, tuple, list, dict)):
        return type(default)
    return float if isinstance(default, (int, float)) and not isinstance(default, enum.Enum) else Any


def _is_number(value: Any, whole: bool) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and (not whole or float(value).is_integer())
