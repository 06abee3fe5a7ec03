"""The values of --set by algorithm: KEY goes to all that have the setting, ALGO.KEY to one."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

from erlbench.errors import UsageError, nearest
from erlbench.records.older import unknown_setting


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
            hint = nearest(algo, types) or f"; there are {', '.join(types)}"
            raise UsageError(f"--set {key}: this command has no algorithm '{algo}'{hint}")
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
