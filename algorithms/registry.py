"""The algorithms by name, imported when they are asked for."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from erlbench.errors import UsageError, nearest

if TYPE_CHECKING:
    from erlbench.algorithms.base import Algorithm

DEFAULT_PRESET = "paper"
CONTINUOUS, DISCRETE = "continuous", "discrete"
BOTH = (CONTINUOUS, DISCRETE)


@dataclass(frozen=True)
class Entry:
    """Where an algorithm is, which actions it can give, and what one counted environment step costs.

    The costs are for estimates only.
    """

    where: str  # module:Class
    actions: tuple[str, ...] = (CONTINUOUS,)
    critic_updates: float = 0.0  # gradient steps per training step
    actor_updates: float = 0.0
    episodes: float = 1.0  # simulated per counted one


ALGORITHMS: Mapping[str, Entry] = MappingProxyType(
    {
        "td3": Entry("erlbench.algorithms.td3:TD3", BOTH, critic_updates=1.0, actor_updates=0.5),
        "ddpg": Entry("erlbench.algorithms.ddpg:DDPG", BOTH, critic_updates=1.0, actor_updates=1.0),
        "sac": Entry("erlbench.algorithms.sac:SAC", BOTH, critic_updates=1.0, actor_updates=1.0),
        "esac": Entry("erlbench.algorithms.esac:ESAC", BOTH, critic_updates=0.02, actor_updates=0.02),
        "cem": Entry("erlbench.algorithms.cem:CEM", BOTH),
        "cma-es": Entry("erlbench.algorithms.cma_es:CMAES", BOTH),
        "cem-rl": Entry("erlbench.algorithms.cem_rl:CEMRL", BOTH, critic_updates=1.0, actor_updates=5.0),
        "p-cem-rl": Entry("erlbench.algorithms.p_cem_rl:PCEMRL", BOTH, critic_updates=1.0, actor_updates=5.0),
        "multi-actor-td3": Entry(
            "erlbench.algorithms.multi_actor_td3:MultiActorTD3", critic_updates=5.0, actor_updates=2.5
        ),
        "aes-rl": Entry("erlbench.algorithms.aes_rl:AESRL", BOTH, critic_updates=1.0, actor_updates=5.0, episodes=6.0),
    }
)


def entry(name: str) -> Entry:
    """The registry's line for `name`; a `UsageError` names the nearest algorithm."""
    if name not in ALGORITHMS:
        hint = nearest(name, ALGORITHMS) or f"; there are {', '.join(ALGORITHMS)}"
        raise UsageError(f"unknown algorithm '{name}'{hint}")
    return ALGORITHMS[name]


def find(name: str) -> type[Algorithm]:
    """The class of the algorithm `name`, imported now."""
    module, _, attribute = entry(name).where.partition(":")
    found: type[Algorithm] = getattr(importlib.import_module(module), attribute)
    return found


def check_actions(name: str, discrete: bool, env: str) -> None:
    """Raise a `UsageError` that names the algorithms that can when `name` cannot run on such actions."""
    kind = DISCRETE if discrete else CONTINUOUS
    if kind not in entry(name).actions:
        able = ", ".join(other for other, listed in ALGORITHMS.items() if kind in listed.actions)
        raise UsageError(
            f"{name} has no {kind} actions, which {env} needs; "
            + (f"these algorithms have: {able}" if able else "no algorithm here has")
        )


def presets(name: str) -> Mapping[str, Mapping[str, Any]]:
    """All presets of an algorithm: name -> the settings that differ from the defaults."""
    module = importlib.import_module(entry(name).where.partition(":")[0])
    found: Mapping[str, Mapping[str, Any]] = module.PRESETS
    return found


def preset(name: str, preset_name: str) -> Mapping[str, Any]:
    """One preset of an algorithm; a `UsageError` names the nearest."""
    known = presets(name)
    if preset_name not in known:
        hint = nearest(preset_name, known) or f"; it has {', '.join(known)}"
        raise UsageError(f"unknown preset '{preset_name}' of {name}{hint}")
    return known[preset_name]


def summary(name: str) -> str:
    """The first line of the algorithm's docstring."""
    return (find(name).__doc__ or "").strip().partition("\n")[0]
