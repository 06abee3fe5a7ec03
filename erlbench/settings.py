"""Hyper-parameters: one frozen dataclass is the configuration, the command line and the documentation.

A field made by `setting` carries its help, its source, the papers' values per environment, and its range. `resolve`
turns a default, the environment's value, a preset and the user's overrides (later ones win) into a checked instance.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
import types
import typing
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from erlbench.envs.catalogue import FUNCTION
from erlbench.errors import UsageError, check_known, nearest
from erlbench.records.older import unknown_setting

MOST = 10**12  # of anything that is counted over a whole run
MOST_AT_ONCE = 100_000  # of anything that is held or asked for at one time: individuals, episodes, units, minibatches
MOST_WEIGHTS = 10**8  # of the hidden layers of a network
OVER_A_RUN = frozenset({  # settings that count over a whole run, or name a stream
    "budget", "generation_steps", "noise_table", "noise_table_seed", "replay_size", "start_timesteps",
    "time_limit_max", "timesteps_per_batch",
})  # fmt: skip
_WORDS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def setting(
    default: Any,
    help: str,
    source: str = "",
    *,
    by_env: Mapping[str, Any] | None = None,
    choices: Sequence[Any] | None = None,
    minimum: float | None = None,
    maximum: float | None = None,
) -> Any:
    """A dataclass field with documentation.

    `source` names the paper or code the default is from; `by_env` gives other defaults by environment name without
    its version ("HalfCheetah"), or by namespace ("dm_control") for those of its environments that it does not name;
    `minimum` and `maximum` are inclusive.
    """
    metadata = {
        "help": help,
        "source": source,
        "by_env": dict(by_env or {}),
        "choices": tuple(choices or ()),
        "minimum": minimum,
        "maximum": maximum,
    }
    return dataclasses.field(default=default, metadata=metadata)


def environment_name(env_id: str) -> str:
    """The key of `by_env`: "Ant" for "Ant-v5", "Ant-v5@paper" or "module:Ant-v5"; "function:sphere" as it is."""
    if env_id.startswith(FUNCTION):
        return env_id.partition("@")[0]
    return re.sub(r"-v\d+$", "", env_id.partition("@")[0].rpartition(":")[2])


def resolve(
    settings_type: type,
    env_id: str,
    preset: Mapping[str, Any] | None = None,
    overrides: Mapping[str, Any] | None = None,
    *,
    owner: str = "",
) -> Any:
    """A checked instance of `settings_type` for one environment; `owner` names the algorithm in error messages.

    Values may be strings as the command line gives them or what TOML gives; anything that does not fit its field
    is a `UsageError`.
    """
    values = resolved_values(settings_type, env_id, preset, overrides, owner=owner)
    try:
        return settings_type(**values)
    except ValueError as error:  # what a settings class checks across its fields
        raise UsageError(f"settings{_of(owner)}: {error}") from error


def resolved_values(
    settings_type: type,
    env_id: str,
    preset: Mapping[str, Any] | None = None,
    overrides: Mapping[str, Any] | None = None,
    *,
    owner: str = "",
) -> dict[str, Any]:
    """The values of `resolve`, each checked by itself; nothing of the class is run."""
    of = _of(owner)
    env, hints, values = environment_name(env_id), typing.get_type_hints(settings_type), {}
    fields = {field.name: field for field in dataclasses.fields(settings_type) if field.init}
    given = {**(preset or {}), **(overrides or {})}
    for name in given:
        if name not in fields:
            raise UsageError(unknown_setting(owner, name, fields))
    for name, field in fields.items():
        by_env = field.metadata.get("by_env", {})
        value = given.get(name, by_env.get(env, by_env.get(env.partition("/")[0], field.default)))
        if value is dataclasses.MISSING:
            raise UsageError(f"setting '{name}'{of} has no default; give it with --set {name}=VALUE")
        values[name] = check_value(
            value, hints[name], f"setting '{name}'{of}", _bounded(name, hints[name], field.metadata)
        )
        if isinstance(values[name], tuple) and sum(map(math.prod, itertools.pairwise(values[name]))) > MOST_WEIGHTS:
            raise UsageError(f"setting '{name}'{of} means more than {MOST_WEIGHTS:,} weights")
    return values


def _of(owner: str) -> str:
    return f" of {owner}" if owner else ""


def _bounded(name: str, kind: Any, limits: Mapping[str, Any]) -> Mapping[str, Any]:
    """The limits of a setting; an integer without a maximum gets one, so that no number uses up the memory."""
    if limits.get("maximum") is not None or not _holds_integers(kind):
        return limits
    return {**limits, "maximum": MOST if name in OVER_A_RUN else MOST_AT_ONCE}


def _holds_integers(kind: Any) -> bool:
    return kind is int or any(map(_holds_integers, typing.get_args(kind)))


def check_value(value: Any, kind: Any, what: str, limits: Mapping[str, Any] | None = None) -> Any:
    """`value` as `kind`, within `limits` (choices, minimum, maximum); `what` names it in the `UsageError`."""
    limits = limits or {}
    try:
        converted = _coerce(value, kind)
    except (ValueError, OverflowError):
        raise UsageError(f"{what} must be {type_name(kind)}, not {_shown(value)}") from None
    choices = limits.get("choices") or ()
    if choices and converted is not None and converted not in choices:
        words = [str(choice) for choice in choices]
        raise UsageError(f"{what} must be one of {', '.join(words)}, not {_shown(value)}{nearest(str(value), words)}")
    for number in converted if isinstance(converted, tuple) else (converted,):
        if isinstance(number, (int, float)) and not isinstance(number, bool):
            if limits.get("minimum") is not None and number < limits["minimum"]:
                raise UsageError(f"{what} must be at least {limits['minimum']:g}, not {_shown(value)}")
            if limits.get("maximum") is not None and number > limits["maximum"]:
                raise UsageError(f"{what} must be at most {limits['maximum']:g}, not {_shown(value)}")
    return converted


def _coerce(value: Any, kind: Any) -> Any:
    """`value` as `kind` (bool, int, float, str, tuples and mappings of one kind, unions); else ValueError."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        if type(None) in arguments and isinstance(value, str) and value.lower() == "none":
            return None
        for argument in arguments:
            with suppress(ValueError, OverflowError):
                return _coerce(value, argument)
        raise ValueError
    if origin is tuple:
        if isinstance(value, str):
            separators = r"[,\s]+|(?<=\d)-" if arguments[0] is int else r"[,\s]+"
            value = [part for part in re.split(separators, value.strip().strip("[]()")) if part]
        return tuple(_coerce(item, arguments[0]) for item in _exactly(value, (list, tuple)))
    if origin is Mapping:
        return {key: _coerce(item, arguments[1]) for key, item in _exactly(value, Mapping).items()}
    if kind in (int, float):
        return _number(value, kind)
    if kind is bool and isinstance(value, str):
        value = _WORDS.get(value.lower())
    return value if kind is Any else _exactly(value, kind)


def _exactly(value: Any, kind: Any) -> Any:
    if not isinstance(value, kind):
        raise ValueError
    return value


def _number(value: Any, kind: type) -> Any:
    if isinstance(value, str):
        try:
            value = int(value)
        except ValueError:
            value = float(value)
    if isinstance(value, bool) or not abs(_exactly(value, (int, float))) < math.inf or (kind is int and value % 1):
        raise ValueError
    return kind(value)


def type_name(kind: Any) -> str:
    """A type in a user's words."""
    names = {
        int: "an integer",
        float: "a finite number",
        bool: "true or false",
        str: "a text",
        type(None): "none",
        tuple[int, ...]: "integers such as 400-300",
    }
    if kind in names:
        return names[kind]
    arguments = typing.get_args(kind)
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        return " or ".join(type_name(argument) for argument in arguments)
    if typing.get_origin(kind) is Mapping:
        return "a table"
    if typing.get_origin(kind) is tuple:
        return f"a list, each {type_name(arguments[0])}"
    return str(kind)


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, str) else str(value)


@dataclass(frozen=True, kw_only=True)
class SettingRow:
    """One setting as the documentation and `erlbench list algos -v` show it."""

    name: str
    default: str
    by_env: str
    allowed: str
    help: str
    source: str


def setting_rows(settings_type: type) -> list[SettingRow]:
    """One row per setting, in the order of the class."""
    rows, hints = [], typing.get_type_hints(settings_type)
    for field in dataclasses.fields(settings_type):
        metadata = field.metadata
        default = field.default if field.default is not dataclasses.MISSING else ""
        allowed = ", ".join(map(str, metadata.get("choices") or ())) or type_name(hints[field.name])
        if metadata.get("minimum") is not None:
            allowed += f", at least {metadata['minimum']:g}"
        if metadata.get("maximum") is not None:
            allowed += f", at most {metadata['maximum']:g}"
        by_env = ", ".join(f"{env} {setting_text(value)}" for env, value in metadata.get("by_env", {}).items())
        rows.append(
            SettingRow(
                name=field.name,
                default=setting_text(default),
                by_env=by_env,
                allowed=allowed,
                help=metadata.get("help", ""),
                source=metadata.get("source", ""),
            )
        )
    return rows


def setting_text(value: Any) -> str:
    """A value as `--set` takes it: (400, 300) or a list of the two is "400-300", no hidden layer is "()"."""
    if isinstance(value, tuple | list):
        if not value:
            return "()"
        return ("-" if all(isinstance(item, int) for item in value) else ",").join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value is None else str(value)


def toml_values(settings: Any) -> dict[str, Any]:
    """The fields of an instance as TOML holds them: tuples as lists, None as "none"."""
    return as_toml({field.name: getattr(settings, field.name) for field in dataclasses.fields(settings)})


def as_toml(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values of fields as TOML holds them."""
    return {k: list(v) if isinstance(v, tuple) else "none" if v is None else v for k, v in values.items()}


def list_settings(settings_type: Any) -> list[str]:
    """The names of the settings of a class, or of an instance."""
    return [item.name for item in dataclasses.fields(settings_type) if item.init]


def select_settings(values: Mapping[str, Any], names: Collection[str], settings_type: type) -> dict[str, Any]:
    """The values for the algorithm that any of `names` means; those of ALGO.KEY win over those of KEY."""
    known = list_settings(settings_type)
    split = [(key.rpartition("."), value) for key, value in values.items()]
    return {
        name: value for owners in (("",), names) for (algo, _, name), value in split if algo in owners and name in known
    }


def check_settings(values: Mapping[str, Any], types: Mapping[str, type]) -> None:
    """Raise `UsageError` for a setting that no algorithm has; `types` are the settings of each, by its name."""
    for key in values:
        algo, _, name = key.rpartition(".")
        named = [known for known in types if algo in ("", known, known.partition("@")[0])]
        if not named:
            check_known(algo, types, f"--set {key}: this command has no algorithm '{algo}'")
        known = list(dict.fromkeys(setting for owner in named for setting in list_settings(types[owner])))
        if name not in known:
            raise UsageError(unknown_setting(", ".join(named), name, known))


def describe_partial_settings(values: Mapping[str, Any], types: Mapping[str, Any]) -> list[str]:
    """A line for each KEY that some of the algorithms lack; `types` are the settings of each, by its name."""
    lines = []
    for key in values:
        having = [name for name, settings in types.items() if key in list_settings(settings)]
        lacking = ", ".join(name for name in types if name not in having)
        if having and lacking:
            lines.append(f"--set {key} is for {', '.join(having)}; {lacking} has no such setting")
    return lines
