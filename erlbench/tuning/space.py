"""What is searched: settings with an interval or a list of values each."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from erlbench.errors import UsageError
from erlbench.records.older import unknown_setting
from erlbench.settings import check_value


@dataclass(frozen=True)
class Range:
    """An interval of a number, or a list of values as `--set` takes them."""

    low: float = 0.0
    high: float = 0.0
    integer: bool = False
    log: bool = False
    choices: tuple[str, ...] = ()

    def suggest(self, trial: Any, name: str) -> Any:
        """A value for a trial of Optuna."""
        if self.choices:
            return trial.suggest_categorical(name, self.choices)
        if self.integer:
            return trial.suggest_int(name, int(self.low), int(self.high), log=self.log)
        return trial.suggest_float(name, self.low, self.high, log=self.log)


def parse_space(texts: Mapping[str, str], settings_type: type, owner: str) -> dict[str, Range]:
    """The space of `{"initial_variance": "1e-4..1e-1:log", "hidden": "64-64,400-300"}`; `UsageError` for others."""
    space, hints = {}, typing.get_type_hints(settings_type)
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


def _range(name: str, text: str, kind: Any, limits: Mapping[str, Any]) -> Range:
    bounds, _, scale = text.partition(":")
    low, dots, high = bounds.partition("..")
    if not dots:
        values = tuple(part.strip() for part in text.split(",") if part.strip())
        for value in values:
            check_value(value, kind, f"--search {name}", limits)
        if len(values) < 2:
            raise UsageError(f"--search {name} needs two values at least, such as A,B, or an interval LOW..HIGH")
        return Range(choices=values)
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
    return Range(first, last, integer=kind in (int, int | None), log=bool(scale))
