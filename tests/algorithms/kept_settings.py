"""The settings of every preset in every environment, as papers and public codes have them.

`python -m tests.algorithms.kept_settings` writes them into `settings.json`: of each algorithm all defaults, and of each
preset and environment what differs from them; and of each part of hybrids its defaults.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from erlbench.algorithms import registry
from erlbench.algorithms.hybrid import COUPLINGS, SCHEDULES
from erlbench.algorithms.search.search import SEARCHES, find_search
from erlbench.envs.catalogue import LISTED
from erlbench.settings import resolve, toml_values

FILE = Path(__file__).with_name("settings.json")
OTHER = "Other-v0"  # an environment that no table has
PARTS = "parts of hybrids"


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


def settings_of_parts() -> dict[str, dict[str, Any]]:
    """The defaults of searches, couplings and schedules in an environment that no table has, by their names."""
    parts = {f"search {name}": find_search(name) for name in SEARCHES}
    parts |= {f"coupling {name}": part for name, part in COUPLINGS.items()}
    parts |= {f"schedule {name}": part for name, part in SCHEDULES.items()}
    return {name: dict(toml_values(resolve(part.settings_type, OTHER))) for name, part in parts.items()}


def main() -> None:
    """Write the settings of all algorithms and parts."""
    lines: dict[str, Any] = {algo: resolved_settings(algo) for algo in registry.ALGORITHMS}
    lines[PARTS] = settings_of_parts()
    FILE.write_text(json.dumps(lines, indent=1) + "\n")


if __name__ == "__main__":
    main()
