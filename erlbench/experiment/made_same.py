"""`--same`: settings that several algorithms get from the first one that has them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from erlbench.algorithms import registry
from erlbench.errors import UsageError, nearest
from erlbench.experiment.options import RunArguments
from erlbench.settings import resolve


def shared_settings(
    arguments: RunArguments, env: str, parts: Sequence[tuple[str, str]]
) -> Mapping[str, Mapping[str, Any]]:
    """What `--same` changes in an environment: algorithm -> setting -> value; `parts` are algorithms with presets.

    Raises `UsageError` for a setting that fewer than two of them have.
    """
    settings = {
        algo: resolve(
            registry.find(algo).settings_type, env,
            registry.preset(algo, preset or arguments.preset or registry.DEFAULT_PRESET), arguments.set, owner=algo,
        )
        for algo, preset in parts
    }  # fmt: skip
    changed: dict[str, dict[str, Any]] = {algo: {} for algo in settings}
    for asked in arguments.same:
        name, given, _ = asked.replace("-", "_").partition("=")
        if given:
            raise UsageError(
                f"--same {asked}: it takes names, and the first algorithm's values; --set {asked} gives one"
            )
        owners = [algo for algo, own in settings.items() if name in {item.name for item in dataclasses.fields(own)}]
        if len(owners) < 2:
            known = {item.name for own in settings.values() for item in dataclasses.fields(own)}
            hint = nearest(name, known) if not owners else f"; only {owners[0]} has it"
            raise UsageError(f"--same {name} needs two algorithms with that setting{hint}")
        value = getattr(settings[owners[0]], name)
        for algo in owners[1:]:
            if getattr(settings[algo], name) != value:
                changed[algo][name] = value
    return changed
