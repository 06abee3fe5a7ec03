"""What a report must know of the suite's algorithms, whose modules it does not import.

python -m benchmarks.algorithm_facts      # writes erlbench/records/algorithms.json
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from erlbench.algorithms import registry
from erlbench.algorithms.base import Algorithm
from erlbench.experiment.fairness import FACTS
from erlbench.settings import resolve, toml_values


def collect_facts(name: str) -> dict[str, Any]:
    """Gradient updates a step, steps that only measure, whether there is a warm-up, presets, settings by environment.

    The settings of an environment are those that differ from those of "".
    """
    listed = registry.find(name)
    kind = listed.settings_type
    envs = {env for field in dataclasses.fields(kind) for env in field.metadata.get("by_env", {})}
    presets = {
        preset: {key: toml_values(resolve(kind, "", values))[key] for key in values}
        for preset, values in registry.presets(name).items()
    }
    usual = toml_values(resolve(kind, ""))
    by_env = {env: _differing(toml_values(resolve(kind, env)), usual) for env in sorted(envs)}
    overrides = {name for cls in listed.__mro__ if cls is not Algorithm for name in vars(cls)}
    return {
        "critic": listed.critic_updates,
        "actor": listed.actor_updates,
        "measured": listed.simulated_steps - 1,
        "warm_up": "warmup" not in overrides,
        "presets": presets,
        "settings": {"": usual, **by_env},
    }


def _differing(values: Mapping[str, Any], usual: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value != usual[name]}


def main() -> None:
    """Write the table."""
    facts = {name: collect_facts(name) for name in registry.ALGORITHMS}
    FACTS.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
