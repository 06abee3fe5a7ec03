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
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from erlbench.errors import ErlbenchError, UsageError, check_known, error_text, nearest
from erlbench.files import Table, Values
from erlbench.records.older import unknown_setting

FUNCTION = "function:"  # what ids of functions as environments begin with
MOST = 10**12  # of anything that is counted over a whole run
MOST_AT_ONCE = 100_000  # of anything that is held or asked for at one time: individuals, episodes, units, minibatches
OVER_A_RUN = frozenset({  # settings that count over a whole run, or name a stream
    "budget", "generation_steps", "noise_table", "noise_table_seed", "replay_size", "start_timesteps",
    "time_limit_max", "timesteps_per_batch",
})  # fmt: skip
LISTS = (tuple, list, Sequence, Iterable)  # whose annotations give the kinds of their items
Owner = tuple[str, str]  # of settings: the names of runs and of their algorithm
_WORDS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def setting(
    default: Any,
    help: str,
    source: str = "",
    *,
    by_env: Values | None = None,
    choices: Sequence[Any] | None = None,
    minimum: float | None = None,
    maximum: float | None = None,
    symbol: str = "",
) -> Any:
    """A dataclass field with documentation.

    `source` names the paper or code the default is from; `by_env` gives other defaults by environment name without
    its version ("HalfCheetah"), or by namespace ("dm_control") for its environments that it does not name;
    `minimum` and `maximum` are inclusive; `symbol` is the source's, such as K_e.
    """
    metadata = {
        "help": help,
        "source": source,
        "by_env": dict(by_env or {}),
        "choices": tuple(choices or ()),
        "minimum": minimum,
        "maximum": maximum,
        "symbol": symbol,
    }
    return dataclasses.field(default=default, metadata=metadata)


def at_least_zero(default: Any, help: str, source: str = "", **keywords: Any) -> Any:
    """A `setting` from 0 on."""
    return setting(default, help, source, minimum=0, **keywords)


def at_least_one(default: Any, help: str, source: str = "", **keywords: Any) -> Any:
    """A `setting` from 1 on: a count, or several."""
    return setting(default, help, source, minimum=1, **keywords)


def fraction(default: Any, help: str, source: str = "", **keywords: Any) -> Any:
    """A `setting` between 0 and 1: a share, a probability, a factor."""
    return setting(default, help, source, minimum=0, maximum=1, **keywords)


def environment_name(env_id: str) -> str:
    """The key of `by_env`: "Ant" for "Ant-v5", "Ant-v5@paper" or "module:Ant-v5"; "function:sphere" as it is."""
    if env_id.startswith(FUNCTION):
        return env_id.partition("@")[0]
    return re.sub(r"-v\d+$", "", env_id.partition("@")[0].rpartition(":")[2])


def resolve(
    settings_type: type, env_id: str, preset: Values | None = None, overrides: Values | None = None, *, owner: str = ""
) -> Any:
    """A checked instance of `settings_type` for one environment; `owner` names the algorithm in error messages.

    Values may be strings as the command line gives them or what TOML gives; anything that does not fit its field
    is a `UsageError`.
    """
    of = f" of {owner}" if owner else ""
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
        limits, kind = dict(field.metadata), hints[name]
        if limits.get("maximum") is None and int in (kind, *typing.get_args(kind)):  # no number uses up the memory
            limits["maximum"] = MOST if name in OVER_A_RUN else MOST_AT_ONCE
        values[name] = check_value(value, kind, f"setting '{name}'{of}", limits)
    try:
        return settings_type(**values)
    except ErlbenchError:
        raise
    except Exception as error:  # what a settings class checks across its fields
        raise UsageError(f"settings of {owner or settings_type.__name__}: {error_text(error)}") from error


def check_value(value: Any, kind: Any, what: str, limits: Values | None = None) -> Any:
    """`value` as `kind`, within `limits` (choices, minimum, maximum); `what` names it in the `UsageError`."""
    limits = limits or {}
    try:
        converted = coerce(value, kind)
    except (ValueError, OverflowError):
        short = re.fullmatch(r"([\d.]+)([kKmM])", str(value))
        hint = f"; write {short[1]}e{3 if short[2] in 'kK' else 6}" if short else ""
        raise UsageError(f"{what} must be {type_name(kind)}, not {value!r}{hint}") from None
    choices = limits.get("choices") or ()
    if choices and converted is not None and converted not in choices:
        words = [str(choice) for choice in choices]
        raise UsageError(f"{what} must be one of {', '.join(words)}, not {value!r}{nearest(str(value), words)}")
    minimum, maximum = limits.get("minimum"), limits.get("maximum")
    for number in converted if isinstance(converted, tuple) else (converted,):
        if isinstance(number, (int, float)) and not isinstance(number, bool):
            if not math.isfinite(number):
                raise UsageError(f"{what} must be a finite number, not {value!r}")
            if minimum is not None and number < minimum:
                raise UsageError(f"{what} must be at least {minimum:g}, not {value!r}")
            if maximum is not None and number > maximum:
                raise UsageError(f"{what} must be at most {maximum:g}, not {value!r}")
    return converted


def coerce(value: Any, kind: Any) -> Any:
    """`value` as `kind`: true or false, numbers, texts, lists, tables, literals, unions; else ValueError.

    Of any other kind, which no plain value can show, the value is taken to be.
    """
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        if type(None) in arguments and isinstance(value, str) and value.lower() == "none":
            return None
        for argument in arguments:
            with suppress(ValueError, OverflowError):
                return coerce(value, argument)
    elif origin is typing.Literal:
        if value in arguments:
            return value
    elif _is_list(origin or kind):
        item_kinds = [item for item in arguments if item is not Ellipsis] if origin in LISTS else []
        if isinstance(value, str):
            separators = r"[,\s]+|(?<=\d)-" if item_kinds == [int] else r"[,\s]+"
            value = [item for item in re.split(separators, value.strip().strip("[]()")) if item]
        if isinstance(value, list | tuple):
            kinds = item_kinds if len(item_kinds) > 1 else (item_kinds or [Any]) * len(value)
            if len(kinds) == len(value):
                return tuple(map(coerce, value, kinds))
    elif (origin or kind) in (Mapping, dict):
        if isinstance(value, Mapping):
            return {key: coerce(item, arguments[1] if arguments else Any) for key, item in value.items()}
    elif kind in (int, float):
        if isinstance(value, str):
            value = int(value) if re.fullmatch(r"\s*[+-]?[\d_]+\s*", value) else float(value)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and (kind is float or value % 1 == 0):
            return kind(value)
    else:
        if kind is bool and isinstance(value, str):
            value = _WORDS.get(value.lower())
        if kind not in (bool, str, type(None)) or isinstance(value, kind):
            return value
    raise ValueError


def _is_list(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Iterable) and not issubclass(kind, (str, bytes, Mapping))


def type_name(kind: Any) -> str:
    """A type in a user's words."""
    names = {
        int: "an integer",
        float: "a number",
        bool: "true or false",
        str: "a text",
        type(None): "none",
        tuple[int, ...]: "integers such as 400-300",
    }
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind in names:
        return names[kind]
    if origin in (typing.Union, types.UnionType):
        return " or ".join(map(type_name, arguments))
    if origin is typing.Literal:
        return f"one of {', '.join(map(str, arguments))}"
    if origin is tuple and Ellipsis not in arguments:
        return f"a list of {len(arguments)} items"
    if _is_list(origin or kind):
        return f"a list, each {type_name(arguments[0])}" if origin in LISTS else "a list"
    if (origin or kind) in (Mapping, dict):
        return f"a table, each {type_name(arguments[1])}" if arguments[1:] not in ((), (Any,)) else "a table"
    return str(getattr(kind, "__name__", kind))


class SettingRow(NamedTuple):
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
        about = field.metadata
        default = "" if field.default is dataclasses.MISSING else setting_text(field.default)
        allowed = [", ".join(map(str, about.get("choices") or ())) or type_name(hints[field.name])]
        limits = (("at least", about.get("minimum")), ("at most", about.get("maximum")))
        allowed += [f"{word} {limit:g}" for word, limit in limits if limit is not None]
        by_env = ", ".join(f"{env} {setting_text(value)}" for env, value in about.get("by_env", {}).items())
        symbol = about.get("symbol")
        texts = (f"{symbol}: " if symbol else "") + about.get("help", ""), about.get("source", "")
        rows.append(SettingRow(field.name, default, by_env, ", ".join(allowed), *texts))
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


def toml_values(settings: Any) -> Table:
    """The fields of an instance as TOML holds them: tuples as lists, None as "none"."""
    return as_toml({field.name: getattr(settings, field.name) for field in dataclasses.fields(settings)})


def as_toml(values: Values) -> Table:
    """Values of fields as TOML holds them."""
    return {k: list(v) if isinstance(v, tuple) else "none" if v is None else v for k, v in values.items()}


def list_settings(settings_type: Any) -> list[str]:
    """The names of the settings of a class, or of an instance."""
    return [item.name for item in dataclasses.fields(settings_type) if item.init]


def share_settings(values: Values, types: Mapping[Owner, type]) -> dict[Owner, Table]:
    """The values of KEY and ALGO.KEY, which win, by the owners that have such a setting.

    `types`: the class of settings of each owner, which has two names; either is ALGO. Raises `UsageError` for what none
    has.
    """
    shared: dict[Owner, Table] = {owner: {} for owner in types}
    for key in sorted(values, key=lambda key: "." in key):
        algo, _, setting = key.rpartition(".")
        named = {owner: list_settings(kind) for owner, kind in types.items() if algo in ("", *owner)}
        if not named:
            check_known(algo, [name for name, _ in types], f"--set {key}: this command has no algorithm '{algo}'")
        names = list(dict.fromkeys(itertools.chain(*named.values())))
        if setting not in names:
            raise UsageError(unknown_setting(", ".join(name for name, _ in named), setting, names))
        for owner, settings in named.items():
            if setting in settings:
                shared[owner][setting] = values[key]
    return shared
