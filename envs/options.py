"""Settings of an environment: how long an episode may be, how many frames an action lasts, keyword arguments.

Keyword arguments are checked against the signatures of the environment's class and its bases, before the environment is
made: by their annotations, and a default of another kind is only a remark.
"""

from __future__ import annotations

import enum
import functools
import importlib
import inspect
import json
import math
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import load_env_creator

from erlbench.envs.catalogue import FRESH, find_module, registered
from erlbench.errors import UsageError, check_known, describe_error
from erlbench.settings import check_value, coerce, type_name

NONE = "none"  # how a command writes None, which TOML cannot
OWN = ("max_episode_steps", "frame_skip", "fresh")
_NOT_SETTINGS = ("self", "render_mode", "model_path", "observation_space", "kwargs", "render_kwargs", "args")
STEPS = {"minimum": 1, "maximum": 10**9}  # of an episode, or of a frame


@dataclass(frozen=True)
class Chosen:
    """Checked settings."""

    max_episode_steps: int | None
    action_repeat: int
    fresh: str  # one of `FRESH`, or empty
    kwargs: dict[str, Any]
    remarks: tuple[str, ...] = ()


def checked_settings(env_id: str, settings: Mapping[str, Any]) -> Chosen:
    """What the settings come to; a `UsageError` names what is unknown or does not fit. Its module is imported."""
    parameters = keyword_arguments(env_id) if settings else {}
    values, remarks = dict(settings), []
    limit, skip = (
        None if value is None else check_value(value, int, f"{name} of environment '{env_id}'", STEPS)
        for name in OWN[:2]
        for value in [values.pop(name, None)]
    )
    fresh = str(values.pop("fresh", ""))
    if fresh not in ("", *FRESH):
        raise UsageError(f"fresh of environment '{env_id}' must be {' or '.join(FRESH)}, not '{fresh}'")
    if skip is not None and "frame_skip" in parameters:  # the environment's parameter
        values["frame_skip"] = skip
        skip = None
    for name, value in values.items():
        check_known(name, (*OWN, *parameters), f"environment '{env_id}' has no setting '{name}'")
        values[name], remark = _of_kind(env_id, name, value, parameters[name])
        remarks += [remark] if remark else []
    return Chosen(limit, skip or 1, fresh, values, tuple(remarks))


def value_text(value: Any) -> str:
    """A value as `--env-set` takes it: (0.2, 1.0) is "[0.2,1.0]"; an empty text for None, which it cannot give."""
    return value if isinstance(value, str) else _toml(value)


def _toml(value: Any) -> str:
    """A value in TOML, without spaces, so that a shell takes most of them unquoted."""
    if value is None:
        return ""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return f"[{','.join(map(_toml, value))}]"
    if isinstance(value, Mapping):
        return f"{{{','.join(f'{key}={_toml(item)}' for key, item in value.items())}}}"
    return json.dumps(value) if isinstance(value, (bool, str)) else str(value)


def keyword_arguments(env_id: str) -> dict[str, inspect.Parameter]:
    """The keyword arguments of an environment by name; none where it is unknown or does not declare them.

    Annotations are types, where they can be found. The module of `MODULE:ID` is imported; a `UsageError` when it cannot
    be.
    """
    if module := find_module(env_id):
        try:
            importlib.import_module(module)
        except Exception as error:
            raise UsageError(
                f"environment '{env_id}' cannot be made: {describe_error(error)} (-v shows the traceback)"
            ) from error
    try:
        entry = gymnasium.spec(registered(env_id).removeprefix(f"{module}:")).entry_point
        creator: Any = load_env_creator(entry) if isinstance(entry, str) else entry
    except Exception:  # of a name or a module that cannot be found; making the environment raises a better error
        return {}
    bound: set[str] = set()
    if isinstance(creator, functools.partial):
        bound, creator = set(creator.keywords), creator.func
    parameters: dict[str, inspect.Parameter] = {}
    functions = [vars(base).get("__init__") for base in creator.__mro__] if inspect.isclass(creator) else [creator]
    for function in filter(None, functions):
        declared, hints = inspect.signature(function).parameters, _read_annotations(function)
        for name, parameter in declared.items():
            if name not in bound and not name.startswith("_") and name not in _NOT_SETTINGS:
                parameters.setdefault(name, parameter.replace(annotation=hints.get(name, inspect.Parameter.empty)))
        if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in declared.values()):
            break
    return parameters


def _read_annotations(function: Any) -> dict[str, Any]:
    """The annotations of a function's parameters, as types; none where one of them cannot be found."""
    try:
        return typing.get_type_hints(function)
    except Exception:  # of a name that only type checkers see
        return {}


def _kind_of_default(default: Any) -> Any:
    """The kind that a default suggests where nothing is annotated; `Any` where it suggests none."""
    if isinstance(default, (bool, str, tuple, list, dict)):
        return type(default)
    return float if isinstance(default, (int, float)) and not isinstance(default, enum.Enum) else Any


def _of_kind(env_id: str, name: str, value: Any, parameter: inspect.Parameter) -> tuple[Any, str]:
    """The value as the environment gets it, and a remark where it only has another kind than the default."""
    of = f"setting '{name}' of environment '{env_id}'"
    default, kind = parameter.default, parameter.annotation
    if isinstance(value, float) and math.isnan(value):
        raise UsageError(f"{of} cannot be nan")
    if value == NONE and (default is None or (kind is not parameter.empty and _fits(None, kind))):
        return None, ""
    if kind is parameter.empty:
        is_usual = default is parameter.empty or _fits(value, _kind_of_default(default))
        return value, "" if is_usual else f"{of} is {value!r}; its default is {_toml(default)}"
    if _fits(value, kind):
        return coerce(value, kind) if isinstance(value, str) else value, ""
    if default is not None and default is not parameter.empty and not _fits(default, kind):  # a wrong annotation
        return value, f"{of} is {value!r}, annotated as {type_name(kind)}"
    text = value_text(value)
    in_quotes = f"; a text has quotes: '{name}=\"{text}\"'" if _fits(text, kind) else ""
    raise UsageError(f"{of} must be {type_name(kind)}, not {value!r}{in_quotes}")


def _fits(value: Any, kind: Any) -> bool:
    try:
        coerce(value, kind)
    except (ValueError, OverflowError):
        return False
    return True
