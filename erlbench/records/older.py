"""Settings and checkpoint dataclasses that had other names in older versions; for columns see the schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from erlbench.errors import nearest
from erlbench.files import read_toml
from erlbench.records.names import check_called

_CEM = {"sigma_init": "initial_variance", "sigma_end": "epsilon_end"}  # variances; elsewhere sigma is a deviation
_REPLAY = {"replay_capacity": "replay_size"}

# Settings by algorithm: the old name, and the name it has now.
SETTINGS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    dict.fromkeys(("cem", "cem-rl", "p-cem-rl"), _CEM) | dict.fromkeys(("td3", "ddpg", "sac", "erl", "esac"), _REPLAY)
)

# Dataclasses of checkpoints: the old module:name, and the name of today.
_TYPES: Mapping[str, str] = MappingProxyType(
    {
        "erlbench.algorithms.openai_es:Generation": "erlbench.algorithms.openai_es:Gathered",
        "erlbench.algorithms.cma_es:CMAESState": "erlbench.algorithms.replayed:ToldState",
        "erlbench.algorithms.nevergrad:NevergradState": "erlbench.algorithms.replayed:ToldState",
    }
)
# Their fields: the old dataclass, and the names of today by those of before.
_FIELDS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "erlbench.algorithms.cma_es:CMAESState": {
            "mean": "reported", "mean_ref": "reported_ref", "rankings": "losses", "individuals": "candidates",
        }
    }
)  # fmt: skip
# Their modules: the old one, and where it is now. A dataclass alone may move where its old module still imports it.
_MODULES: Mapping[str, str] = MappingProxyType(
    {
        f"erlbench.algorithms.{module}": f"erlbench.algorithms.{room}.{module}"
        for room, modules in (
            ("parts", ("esac_state", "ppo_settings")),
            ("training", ("critic", "gradient_tasks", "update_settings")),
        )
        for module in modules
    }
)


def type_of_today(name: str) -> tuple[str, str]:
    """Where a dataclass that a checkpoint names `module:name` is: its module and its name in it."""
    module, _, own = _TYPES.get(name, name).partition(":")
    return _MODULES.get(module, module), own


def fields_of_today(name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a dataclass that a checkpoint names `module:name`, under the names of today."""
    names = _FIELDS.get(name, {})
    return {names.get(field, field): value for field, value in fields.items()}


def read_config(path: Path) -> dict[str, Any]:
    """The tables of a run's config.toml, settings under the names of today; raises OSError and ValueError."""
    config = of_today(read_toml(path, inside=1))
    check_called(config)
    return config


def of_today(config: dict[str, Any]) -> dict[str, Any]:
    """The tables of a config.toml with the settings under the names of today."""
    run, settings = config.get("run"), config.get("settings")
    if isinstance(run, dict) and isinstance(settings, dict):
        names = SETTINGS.get(str(run.get("algo")), {})
        return {**config, "settings": {names.get(name, name): value for name, value in settings.items()}}
    return config


def unknown_setting(algo: str, name: str, known: Iterable[str]) -> str:
    """The message about a setting that `algo` does not have, with the name that is probably meant."""
    known, now = list(known), SETTINGS.get(algo, {}).get(name)
    hint = f"; it is called '{now}' now" if now else nearest(name, known)
    hint = hint or f"; there are {', '.join(known) or 'none'}"
    return f"unknown setting '{name}'{f' of {algo}' if algo else ''}{hint}"
