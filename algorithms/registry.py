"""The algorithms by name, imported when they are asked for."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from functools import cache
from importlib import metadata
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from erlbench.errors import UsageError, describe_error, nearest, warn
from erlbench.machine import process
from erlbench.records.older import DEFAULT_PRESET, unknown_preset

if TYPE_CHECKING:
    from erlbench.algorithms.base import Algorithm
    from erlbench.envs.registry import Problem

Part = TypeVar("Part")


@dataclass(frozen=True)
class AlgorithmEntry:
    """Where an algorithm is, and which packages it needs."""

    where: str  # module:Class
    extra: tuple[str, str] | None = None  # of erlbench that it needs, and the module that comes with it
    library: str = ""  # a module of others that it imports only when it runs


CLASSES = {
    "td3": "TD3",
    "ddpg": "DDPG",
    "sac": "SAC",
    "crossq": "CrossQ",
    "esac": "ESAC",
    "ppo": "PPO",
    "trpo": "TRPO",
    "nevergrad": "Nevergrad",
    "openai-es": "OpenAIES",
    "snes": "SNES",
    "ga": "GA",
    "ars": "ARS",
    "pgpe": "PGPE",
    "cem": "CEM",
    "cma-es": "CMAES",
    "cem-rl": "CEMRL",
    "p-cem-rl": "PCEMRL",
    "multi-actor-td3": "MultiActorTD3",
    "evorainbow-exp": "EvoRainbowExp",
    "pderl": "PDERL",
    "erl": "ERL",
    "aes-rl": "AESRL",
}  # each in a module of its name
EXTRAS = {"ppo": ("ppo", "stable_baselines3"), "trpo": ("trpo", "sb3_contrib"), "nevergrad": ("nevergrad", "nevergrad")}
LIBRARIES = {"nevergrad": "nevergrad", "cma-es": "cma"}
ALGORITHMS: Mapping[str, AlgorithmEntry] = MappingProxyType(
    {
        name: AlgorithmEntry(
            f"erlbench.algorithms.{name.replace('-', '_')}:{kind}", EXTRAS.get(name), LIBRARIES.get(name, "")
        )
        for name, kind in CLASSES.items()
    }
)
GROUP = "erlbench.algorithms"  # entry points of packages that bring algorithms


def names() -> list[str]:
    """The algorithms of the suite, then the algorithms of installed packages."""
    return [*ALGORITHMS, *(name for name in plugins() if name not in ALGORITHMS)]


@cache
def plugins() -> Mapping[str, AlgorithmEntry]:
    """The algorithms that installed packages bring by the entry point `erlbench.algorithms`; none is imported."""
    found: dict[str, AlgorithmEntry] = {}
    for name, where in ((point.name, point.value) for point in metadata.entry_points(group=GROUP)):
        other = ALGORITHMS.get(name) or found.get(name)
        if other and other.where != where:
            warn(f"two algorithms are called '{name}', {other.where} and {where}; name one as MODULE:CLASS")
        found[name] = AlgorithmEntry(where)
    return MappingProxyType(found)


def entry(name: str) -> AlgorithmEntry:
    """The line for `name`, or for a class named as `module:Class`; a `UsageError` names the nearest algorithm."""
    if name in ALGORITHMS:
        return ALGORITHMS[name]
    if ":" in name:
        return AlgorithmEntry(name)
    if name not in plugins():
        hint = nearest(name, names()) or f"; there are {', '.join(names())}"
        raise UsageError(f"unknown algorithm '{name}'{hint}")
    return plugins()[name]


def find(name: str) -> type[Algorithm[Any, Any]]:
    """The class of the algorithm `name`, imported now; a `UsageError` for a plug-in that is none."""
    from erlbench.algorithms.base import Algorithm
    from erlbench.algorithms.search.search import Search

    where = entry(name).where
    plugin = find_named("algorithm", name, {} if ":" in name else {name: where}, object)
    if isinstance(plugin, type) and issubclass(plugin, Search):
        from erlbench.algorithms.hybrid import search_alone

        return search_alone(complete("search", name, plugin))
    if isinstance(plugin, type) and issubclass(plugin, Algorithm):
        return complete("algorithm", name, plugin)
    if callable(plugin) and hasattr(plugin, "__name__"):
        from erlbench.algorithms.ask_tell import make_algorithm  # an object with ask and tell, or what makes one

        return make_algorithm(plugin)
    raise UsageError(
        f"algorithm '{name}' ({where}) is neither a subclass of erlbench.algorithms.base.Algorithm nor a class or "
        "function that makes an object with ask and tell"
    )


def complete(what: str, name: str, kind: type[Part]) -> type[Part]:
    """The class of a search or an algorithm, if it defines what its base class leaves open; else a `UsageError`."""
    lacking = sorted(getattr(kind, "__abstractmethods__", ()))
    if not is_dataclass(getattr(kind, "settings_type", None)):
        lacking.append("settings_type (a dataclass)")
    if lacking:
        raise UsageError(f"{what} '{name}' does not define {', '.join(lacking)}")
    return kind


def find_named(what: str, name: str, table: Mapping[str, Any], kind: type) -> Any:
    """The part of an algorithm that `table` or MODULE:NAME names, a class or an instance of `kind`."""
    where = table.get(name, name)
    if not isinstance(where, str):
        return where
    module, _, attribute = where.partition(":")
    if not attribute:
        hint = nearest(name, table) or f"; give {', '.join([*table, 'MODULE:NAME of a plug-in'])}"
        raise UsageError(f"unknown {what} '{name}'{hint}")
    if name not in table:
        process.allow_module(module)
    try:
        found = importlib.import_module(module)
        value = getattr(found, attribute)
    except (Exception, SystemExit) as error:  # a script may end its program
        place, hint = "" if where == name else f" ({where})", ""
        if isinstance(error, AttributeError) and error.name == attribute:
            hint = nearest(attribute, vars(found))
        elif isinstance(error, ModuleNotFoundError) and error.name == module:
            hint = "; a module is typed without .py, from its folder or with PYTHONPATH"
        raise UsageError(f"{what} '{name}' cannot be imported{place}: {describe_error(error)}{hint}") from error
    if kind is object or isinstance(value, kind) or (isinstance(value, type) and issubclass(value, kind)):
        return value
    raise UsageError(f"{what} '{name}' is no {kind.__module__}.{kind.__name__}")


def find_name(made: Any) -> str:
    """The name `module:Name` of a class or function; a `UsageError` where it cannot be found by that."""
    module, qualname = getattr(made, "__module__", ""), getattr(made, "__qualname__", "")
    if not qualname or getattr(sys.modules.get(module), qualname, None) is not made:
        raise UsageError(f"an algorithm is a name, or a class or a function at the top level of a module, not {made!r}")
    return f"{module}:{qualname}"


def learns(name: str) -> bool:
    """Whether the algorithm `name` makes gradient steps; true of every plug-in."""
    return name not in ALGORITHMS or find(name).critic_updates > 0


def gradient_modules(name: str) -> tuple[str, ...]:
    """What gradient workers of the algorithm `name` import in addition to torch, which may take seconds."""
    extra = entry(name).extra
    return (extra[1],) if extra and find(name).critic_updates else ()


def short_name(name: str) -> str:
    """The name of results: `ARS` for `my_module:ARS`, any other name as it is."""
    return name.rpartition(":")[2]


def missing(name: str) -> str:
    """The command that installs what the algorithm `name` needs and this Python lacks; empty where all is there."""
    extra = missing_extra(name)
    return f"pip install 'erlbench[{extra}]'" if extra else ""


def missing_extra(name: str) -> str:
    """The extra of erlbench that the algorithm `name` needs and this Python lacks; empty where all is there."""
    extra = entry(name).extra
    return "" if extra is None or importlib.util.find_spec(extra[1]) else extra[0]


def check_observations(name: str, problem: Problem, env: str) -> None:
    """Raise a `UsageError` when `name` learns from observations, and `env` has none, or images."""
    if (not problem.observation_size or problem.image) and find(name).critic_updates:
        able = ", ".join(other for other in ALGORITHMS if not find(other).critic_updates)
        what = "images" if problem.image else "none"
        raise UsageError(f"{name} learns from observations, and {env} has {what}; these algorithms can: {able}")


def presets(name: str) -> Mapping[str, Mapping[str, Any]]:
    """All presets of an algorithm, the defaults first: name -> the settings that differ from them."""
    find(name)  # names what is wrong with a plug-in
    module = importlib.import_module(entry(name).where.partition(":")[0])
    return {DEFAULT_PRESET: {}, **getattr(module, "PRESETS", {})}


def preset(name: str, preset_name: str) -> Mapping[str, Any]:
    """One preset of an algorithm; a `UsageError` names the nearest."""
    available = presets(name)
    if preset_name not in available:
        raise UsageError(unknown_preset(name, preset_name, available))
    return available[preset_name]


def summary(name: str) -> str:
    """The first line of the algorithm's docstring."""
    return (find(name).__doc__ or "").strip().partition("\n")[0]
