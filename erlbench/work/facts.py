"""What there is to know of an environment that the suite does not list; for a clean process: its module is imported."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import gymnasium

from erlbench.envs import catalogue
from erlbench.envs.options import OWN, keyword_arguments, kind_of, value_text
from erlbench.envs.registry import Described, describe_problem
from erlbench.errors import UsageError

STEPS = "steps of an episode"
NO_CANDIDATES = ("gymnasium", "erlbench", "stable_baselines3", "stable-baselines3", "evotorch", "shimmy")


@dataclass(frozen=True)
class EnvironmentFacts:
    """Of one environment; `refusal` says why the suite cannot run it as it stands."""

    rows: tuple[tuple[str, str], ...]  # what and its value
    settings: tuple[tuple[str, str, str], ...]  # name, default, kind
    refusal: str = ""


def facts_of(say: Callable[[str], None], name: str) -> EnvironmentFacts:
    """The facts of `MODULE:ID`, or of an ID that Gymnasium knows; raises `UsageError` for one that nobody registers."""
    refusal, rows = "", []
    try:
        rows = _described(describe_problem(name, {}, say))
    except UsageError as error:
        refusal = str(error)
        with suppress(UsageError):  # where only its time limit is missing
            rows = [row for row in _described(describe_problem(name, {"max_episode_steps": 1}, say)) if row[0] != STEPS]
    module = catalogue.module_of(name)
    registered = name.removeprefix(f"{module}:")
    if refusal and registered not in gymnasium.registry:
        raise UsageError(refusal)
    spec = gymnasium.spec(registered)
    entry = spec.entry_point if isinstance(spec.entry_point, str) else getattr(spec.entry_point, "__module__", "")
    rows += [("made by", str(entry)), ("package", _package(str(entry) or module))]
    rows += [("registered with", ", ".join(f"{key}={value_text(value)}" for key, value in spec.kwargs.items()))]
    settings = [(key, "", "") for key in OWN]
    for key, parameter in keyword_arguments(name).items():
        default = spec.kwargs.get(key, parameter.default)
        settings.append((key, "" if default is inspect.Parameter.empty else value_text(default), kind_of(parameter)))
    return EnvironmentFacts(tuple((key, value) for key, value in rows if value), tuple(settings), refusal)


def _described(described: Described) -> list[tuple[str, str]]:
    task = described.problem
    return [
        ("observation", f"{task.observation_size} numbers{_parts(described.layout)}"),
        ("action", f"one of {task.action_size}" if task.discrete else _box(task.action_low, task.action_high)),
        (STEPS, str(task.env.max_episode_steps)),
        *(("remark", remark) for remark in described.remarks),
    ]


def answer_of(tell: Callable[[str, Any], None], name: str) -> EnvironmentFacts | str:
    """The facts, or the mistake in one line; for a process of its own."""
    try:
        return facts_of(lambda phase: tell("phase", phase), name)
    except UsageError as error:
        return str(error)


def registering(tell: object, module: str, env_id: str) -> bool:
    """Whether importing a module registers an id."""
    importlib.import_module(module)
    return env_id in gymnasium.registry


def candidates() -> list[str]:
    """The modules of distributions that may register environments, as they need Gymnasium; none is imported."""
    tops: dict[str, list[str]] = {}
    for module, owners in metadata.packages_distributions().items():
        for owner in owners:
            tops.setdefault(owner, []).append(module)
    modules = []
    for distribution in metadata.distributions():
        needs = {need.partition(";")[0].strip().lower() for need in distribution.requires or ()}
        plugin = any(point.group.startswith(("gymnasium.envs", "gym.envs")) for point in distribution.entry_points)
        if distribution.name not in NO_CANDIDATES and (plugin or any(need.startswith("gymnasium") for need in needs)):
            modules += [module for module in tops.get(distribution.name, []) if module.isidentifier()]
    return sorted({module for module in modules if not module.startswith("_")})


def _package(module: str) -> str:
    """Name and version of the distribution that a module belongs to."""
    owners = metadata.packages_distributions().get(module.partition(".")[0].partition(":")[0], ())
    return ", ".join(f"{owner} {metadata.version(owner)}" for owner in dict.fromkeys(owners)) or "none; a file of yours"


def _parts(layout: tuple[str, ...]) -> str:
    return f", flattened: {', '.join(layout)}" if layout else ""


def _box(low: tuple[float, ...], high: tuple[float, ...]) -> str:
    ends: list[Any] = sorted(set(zip(low, high, strict=True)))
    return f"{len(low)} numbers, {' or '.join(f'{a:g} to {b:g}' for a, b in ends[:3])}"
