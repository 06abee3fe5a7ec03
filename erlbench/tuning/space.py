"""What is searched: settings with an interval or a list of values each."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from erlbench.errors import UsageError
from erlbench.records.older import unknown_setting
from erlbench.settings import check_value

Space = dict[str, BaseDistribution]


def parse_space(texts: Mapping[str, str], settings_type: type, owner: str) -> Space:
    """The space of `{"initial_variance": "1e-4..1e-1:log", "hidden": "64-64,400-300"}`; `UsageError` for others."""
    space: Space = {}
    hints = typing.get_type_hints(settings_type)
    fields = {field.name: field for field in dataclasses.fields(settings_type)}
    for name, what in texts.items():
        if not what:
            raise UsageError(f"--search {name} needs a range: LOW..HIGH, LOW..HIGH:log or A,B,C")
        if name not in fields:
            raise UsageError(unknown_setting(owner, name, fields))
        space[name] = _range(name, what, hints[name], fields[name].metadata)
    if not space:
        raise UsageError(
            "--search names no setting: give at least one, such as --search initial_variance=1e-4..1e-1:log"
        )
    return space


def _range(name: str, text: str, kind: Any, limits: Mapping[str, Any]) -> BaseDistribution:
    bounds, _, scale = text.partition(":")
    low, dots, high = bounds.partition("..")
    if not dots:
        values = tuple(part.strip() for part in text.split(",") if part.strip())
        for value in values:
            check_value(value, kind, f"--search {name}", limits)
        if len(values) < 2:
            raise UsageError(f"--search {name} needs two values at least, such as A,B, or an interval LOW..HIGH")
        return CategoricalDistribution(values)
    if scale not in ("", "log"):
        raise UsageError(f"--search {name}={text}: after the interval stands :log or nothing, not :{scale}")
    if kind not in (int, float, int | None, float | None):
        raise UsageError(f"--search {name}={text}: an interval is for numbers; list the values, as A,B,C")
    ends = [check_value(end, kind, f"--search {name}", limits) for end in (low, high)]
    if None in ends:
        raise UsageError(f"--search {name}={text}: both ends must be numbers")
    first, last = map(float, ends)
    if first >= last or (scale and first <= 0):
        raise UsageError(f"--search {name}={text}: the lower end stands first, and is above 0 with :log")
    if kind in (int, int | None):
        return IntDistribution(int(first), int(last), log=bool(scale))
    return FloatDistribution(first, last, log=bool(scale))
