"""Files of older versions: other names of settings, fewer files and columns; and facts that runs do not record.

For columns that had other names see the schema.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from erlbench.errors import nearest
from erlbench.files import table_in

_CEM = {"sigma_init": "initial_variance", "sigma_end": "epsilon_end"}  # variances; elsewhere sigma is a deviation
_REPLAY = {"replay_capacity": "replay_size"}
_RATIO = {"update_ratio": "updates_per_step"}
_OPTIMIZER = {"optimiser": "optimizer"}
_AES = {
    "critic_ratio": "critic_updates_per_step", "range": "fitness_range", "ring": "window", "floor": "variance_min",
    "psg_positive": "p_positive", "psg_negative": "p_negative",
}  # fmt: skip

# Settings by algorithm: the old name, and the name it has now.
SETTINGS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    dict.fromkeys(("cem", "cem-rl", "p-cem-rl"), _CEM)
    | dict.fromkeys(("td3", "ddpg", "sac"), _REPLAY)
    | dict.fromkeys(("multi-actor-td3", "pderl", "evorainbow-exp"), _RATIO)
    | {"erl": _REPLAY | _RATIO, "esac": _REPLAY | _OPTIMIZER, "openai-es": _OPTIMIZER, "aes-rl": _AES}
)

# The suite's algorithms, of which readers run no code: those that learn by gradient steps, those that compute with
# their budget, so that a long run cut early is another experiment, and all.
LEARNERS = (
    "td3", "ddpg", "sac", "crossq", "esac", "ppo", "trpo", "cem-rl", "p-cem-rl", "multi-actor-td3", "evorainbow-exp",
    "pderl", "erl", "aes-rl",
)  # fmt: skip
WITH_BUDGET = ("esac", "ppo", "trpo")
ALGORITHMS = (*LEARNERS, "nevergrad", "openai-es", "snes", "ga", "ars", "pgpe", "cem", "cma-es")

# The preset of an algorithm's defaults, and its old name, which means something else for algorithms that are newer.
DEFAULT_PRESET, OLD_DEFAULT_PRESET = "default", "paper"
WITH_PAPER_PRESET = ("crossq",)

OF_FORMATS = (0, 2, 0)  # the first version that writes a format, digests, and checksums of a done run's files


def update_names(config: dict[str, Any]) -> dict[str, Any]:
    """The tables of a config.toml with its preset and settings under the names of today."""
    run, settings = table_in(config, "run"), table_in(config, "settings")
    algo = str(run.get("algo"))
    if run.get("preset") == OLD_DEFAULT_PRESET and _has_old_default(algo):
        config = {**config, "run": {**run, "preset": DEFAULT_PRESET}}
    if settings and (names := SETTINGS.get(algo)):
        config = {**config, "settings": {names.get(name, name): value for name, value in settings.items()}}
    return config


def unknown_preset(algo: str, name: str, presets: Iterable[str]) -> str:
    """The message about a preset that `algo` does not have, with the name that is probably meant."""
    presets = list(presets)
    if name == OLD_DEFAULT_PRESET and _has_old_default(algo):
        hint = f"; it is called '{DEFAULT_PRESET}' now"
    else:
        hint = nearest(name, presets) or f"; it has {', '.join(presets)}"
    return f"unknown preset '{name}' of {algo}{hint}"


def _has_old_default(algo: str) -> bool:
    return algo in ALGORITHMS and algo not in WITH_PAPER_PRESET


def unknown_setting(algo: str, name: str, settings: Iterable[str]) -> str:
    """The message about a setting that `algo` does not have, with the name that is probably meant."""
    settings, new_name = list(settings), SETTINGS.get(algo, {}).get(name)
    hint = f"; it is called '{new_name}' now" if new_name else nearest(name, settings)
    hint = hint or f"; there are {', '.join(settings) or 'none'}"
    return f"unknown setting '{name}'{f' of {algo}' if algo else ''}{hint}"


def read_version(meta: Mapping[str, Any]) -> tuple[int, ...]:
    """The version that wrote a run's meta.json, by its name or by the format; empty for unknown."""
    text = re.match(r"\d{1,4}(\.\d{1,4})*", str(table_in(meta, "versions").get("erlbench", "")))
    version = tuple(map(int, text[0].split("."))) if text else ()
    return max(version, OF_FORMATS) if isinstance(meta.get("format"), int) else version
