"""The settings of every preset in every environment, as papers and public codes have them.

`python -m tests.algorithms.kept_settings` writes them into `settings.json`: of each algorithm all defaults, and of each
preset and environment what differs from them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from erlbench.algorithms import registry
from erlbench.envs.catalogue import LISTED
from erlbench.settings import resolve, toml_values

FILE = Path(__file__).with_name("settings.json")
OTHER = "Other-v0"  # an environment that no table has


def resolved_settings(algo: str) -> dict[str, dict[str, Any]]:
    """The settings of an algorithm: `PRESET ENVIRONMENT` -> values, without rows that equal the preset's usual ones."""
    kind = registry.find(algo).settings_type

    def values(preset: str, env: str) -> dict[str, Any]:
        return dict(toml_values(resolve(kind, env, registry.preset(algo, preset))))

    defaults, found = toml_values(resolve(kind, OTHER)), {}
    found["defaults"] = dict(defaults)
    for preset in registry.presets(algo):
        usual = values(preset, OTHER)
        found[preset] = {name: value for name, value in usual.items() if value != defaults[name]}
        for env in LISTED:
            if changed := {name: value for name, value in values(preset, env).items() if value != usual[name]}:
                found[f"{preset} {env}"] = changed
    return found


def main() -> None:
    """Write the settings of all algorithms."""
    lines = {algo: resolved_settings(algo) for algo in registry.ALGORITHMS}
    FILE.write_text(json.dumps(lines, indent=1) + "\n")


if __name__ == "__main__":
    main()
