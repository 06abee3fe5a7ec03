"""The fairness sheet: in what compared algorithms differ besides their ideas, and which settings were overridden.

It is a value, made of configurations (`Cell.config`, or a run's config.toml), so a terminal prints it before a run and
a report prints it after one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from erlbench.errors import ErlbenchError
from erlbench.experiment.tuning_budgets import ALL, budgets_of
from erlbench.settings import resolved_values, setting_text

Config = Mapping[str, Mapping[str, Any]]
NONE = "-"
DEFAULTS = "defaults"

# What a line shows: settings by name, each algorithm having some of them.
GROUPS: Mapping[str, tuple[str, ...]] = {
    "hidden layers": ("hidden", "critic_hidden"),
    "activation": ("activation", "critic_activation"),
    "minibatch": ("batch_size",),
    "step sizes": ("learning_rate", "actor_learning_rate", "critic_learning_rate", "es_learning_rate"),
    "replay": ("replay_size",),
    "discount": ("discount",),
    "population": ("population", "actors"),
}
EVALUATION = ("eval_freq", "eval_episodes", "final_episodes")


@dataclass(frozen=True)
class FairnessLine:
    """One aspect, with a text for each algorithm; "-" where it has none."""

    aspect: str
    values: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """Whether the algorithms do not have the same."""
        return len(set(self.values)) > 1


@dataclass(frozen=True)
class FairnessSheet:
    """All lines of the algorithms `names`."""

    names: tuple[str, ...]
    lines: tuple[FairnessLine, ...]

    @property
    def differing(self) -> tuple[FairnessLine, ...]:
        """The lines in which the algorithms differ."""
        return tuple(line for line in self.lines if line.differs)

    @property
    def defaults(self) -> bool:
        """Whether all settings of all algorithms are defaults of their presets."""
        return all(value == DEFAULTS for line in self.lines if line.aspect == OVERRIDDEN for value in line.values)


OVERRIDDEN = "overridden"


def fairness_sheet(configs: Iterable[Config]) -> FairnessSheet:
    """The sheet of all algorithms, by the names of their runs; values that differ among its runs stand side by side."""
    sides: dict[str, list[Config]] = {}
    for config in distinct(configs):
        sides.setdefault(str(config["run"].get("name") or config["run"].get("algo")), []).append(config)
    aspects: dict[str, Callable[[Config], str]] = {
        **{aspect: _settings(names) for aspect, names in GROUPS.items()},
        "updates a step": _updates,
        "warm-up steps": _warmup,
        "steps that only measure, a step": _measuring,
        "evaluation": _evaluation,
        "defaults tuned by": _tuned,
        OVERRIDDEN: lambda config: (", ".join(overridden(config)) or DEFAULTS) if config.get("settings") else NONE,
    }
    lines = [FairnessLine(aspect, tuple(_joined(own, text) for own in sides.values()))
             for aspect, text in aspects.items()]  # fmt: skip
    lines += _further(list(sides.values()))
    return FairnessSheet(tuple(sides), tuple(line for line in lines if set(line.values) != {NONE}))


def distinct(configs: Iterable[Config]) -> list[Config]:
    """The configurations that differ in more than the seed, the first of each."""
    found: dict[str, Config] = {}
    for config in configs:
        run = {name: value for name, value in config["run"].items() if name != "seed"}
        found.setdefault(repr((run, config.get("settings"))), config)
    return list(found.values())


def overridden(config: Config) -> list[str]:
    """The settings that are not those of the algorithm's preset in this environment, as "name=value".

    Of an algorithm that is not the suite's, nothing is known.
    """
    from erlbench.algorithms import registry  # not at the top: a report without such a table need not pay for it

    algo, settings = str(config["run"].get("algo")), config.get("settings", {})
    if algo not in registry.ALGORITHMS:
        return []
    try:
        preset = registry.preset(algo, str(config["run"].get("preset") or registry.DEFAULT_PRESET))
        usual = resolved_values(registry.find(algo).settings_type, str(config["run"].get("env")), preset)
    except ErlbenchError:
        return []
    return [f"{name}={setting_text(value)}" for name, value in settings.items()
            if name in usual and setting_text(value) != setting_text(_plain(usual[name]))]  # fmt: skip


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _joined(configs: Sequence[Config], text: Callable[[Config], str]) -> str:
    return " / ".join(dict.fromkeys(map(text, configs)))


def _settings(names: Sequence[str]) -> Callable[[Config], str]:
    """The values of some settings, each once where they are equal."""

    def text(config: Config) -> str:
        own = config.get("settings", {})
        found = [setting_text(own[name]) for name in names if own.get(name) not in (None, "none", [], ())]
        return ", ".join(dict.fromkeys(found)) or NONE

    return text


def _further(sides: Sequence[Sequence[Config]]) -> list[FairnessLine]:
    """Other settings that all algorithms have, where their values differ."""
    shown = {"start_timesteps", *(name for names in GROUPS.values() for name in names)}
    first = [own[0].get("settings", {}) for own in sides]
    shared = [name for name in (first[0] if first else {}) if name not in shown and all(name in own for own in first)]
    lines = [FairnessLine(name, tuple(_joined(own, _settings((name,))) for own in sides)) for name in shared]
    return [line for line in lines if line.differs]


def _algorithm(config: Config) -> tuple[Any, Any] | None:
    """The algorithm's class and the values of its settings, unchecked; None of one that is not the suite's.

    A settings class may ask other packages, which a report does not run.
    """
    from erlbench.algorithms import registry

    algo = str(config["run"].get("algo"))
    if algo not in registry.ALGORITHMS:
        return None
    listed = registry.find(algo)
    values = {item.name: item.default for item in dataclasses.fields(listed.settings_type)}
    own = {name: tuple(value) if isinstance(value, list) else value
           for name, value in config.get("settings", {}).items() if name in values}  # fmt: skip
    return listed, SimpleNamespace(**values | own)


def _updates(config: Config) -> str:
    if (found := _algorithm(config)) is None:
        return NONE
    rates = [(kind, rate) for kind in ("critic", "actor") if (rate := getattr(found[0], f"{kind}_updates"))]
    return ", ".join(f"{kind} {rate:g}" for kind, rate in rates) or NONE


def _warmup(config: Config) -> str:
    found = _algorithm(config)
    try:
        return NONE if found is None else f"{found[0].warmup(found[1]):,}"
    except (TypeError, ValueError):  # of a damaged configuration
        return NONE


def _measuring(config: Config) -> str:
    found = _algorithm(config)
    return NONE if found is None else f"{found[0].simulated_steps - 1:g}"


def _evaluation(config: Config) -> str:
    run = config["run"]
    frequency, episodes, final = (run.get(name, "?") for name in EVALUATION)
    return f"every {frequency} steps, {episodes} episodes, final {final}"


def _tuned(config: Config) -> str:
    rows = list(budgets_of(str(config["run"].get("algo"))))
    return next((row.by for row in rows if row.settings in ALL), NONE)
