"""Fairness of a comparison: how the algorithms' settings differ, and which were overridden.

All is made of configurations (`Cell.config`, or a run's config.toml), so a terminal prints it before a run and a report
prints it after one.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from erlbench.files import Table, Values
from erlbench.records.older import DEFAULT_PRESET
from erlbench.settings import environment_name, setting_text

Config = Mapping[str, Values]
NONE = "-"
DEFAULTS = "defaults"
EVALUATION = ("eval_freq", "eval_episodes", "final_episodes")
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
TUNING_BUDGETS = Path(__file__).with_name("tuning_budgets.csv")  # who tuned the defaults of each algorithm, and how
FACTS = Path(__file__).parents[1] / "records" / "algorithms.json"  # what is known of the suite's algorithms
ALL = ("all", "all others")
GROUPED = {"start_timesteps"}.union(*GROUPS.values())


def compare_algorithms(configs: Iterable[Config]) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """The names of the runs, and what differs between them: a text for each name by aspect, "-" where it has none.

    Values that differ among the runs of a name stand side by side. Settings without a separate line are compared
    where all algorithms have them.
    """
    sides: dict[str, dict[str, dict[str, None]]] = {}  # name -> aspect -> texts
    for config in distinct(configs):
        aspects = sides.setdefault(str(config["run"].get("name") or config["run"].get("algo")), {})
        for aspect, text in _describe(config).items():
            aspects.setdefault(aspect, {})[text] = None
    shared = [aspect for aspect in next(iter(sides.values()), ()) if all(aspect in texts for texts in sides.values())]
    lines = {aspect: tuple(" / ".join(texts[aspect]) for texts in sides.values()) for aspect in shared}
    return tuple(sides), {aspect: texts for aspect, texts in lines.items() if len(set(texts)) > 1}


def distinct(configs: Iterable[Config]) -> list[Config]:
    """The configurations that differ in more than the seed, the first of each."""
    first: dict[str, Config] = {}
    for config in configs:
        first.setdefault(repr(({**config["run"], "seed": 0}, config.get("settings"))), config)
    return list(first.values())


@cache
def read_facts() -> dict[str, Table]:
    """What is known of the suite's algorithms, by name: `benchmarks/algorithm_facts.py` writes it."""
    facts: dict[str, Table] = json.loads(FACTS.read_text(encoding="utf-8"))
    return facts


def find_defaults(algo: str, preset: str, env: str) -> Table:
    """The settings of a preset in an environment as config.toml holds them; none where they are not known."""
    facts, name = read_facts().get(algo), environment_name(env)
    if facts is None or preset not in facts["presets"]:
        return {}
    by_env = facts["settings"]
    here = by_env.get(name, by_env.get(name.partition("/")[0], {}))
    return {**by_env[""], **here, **facts["presets"][preset]}


def overridden(config: Config) -> dict[str, str]:
    """The settings that differ from the algorithm's preset in this environment, as `--set` takes them.

    Of an algorithm that is not the suite's, nothing is known.
    """
    run, settings = config["run"], config.get("settings", {})
    usual = find_defaults(str(run.get("algo")), str(run.get("preset") or DEFAULT_PRESET), str(run.get("env")))
    texts = {name: setting_text(value) for name, value in settings.items() if name in usual}
    return {name: text for name, text in texts.items() if text != setting_text(usual[name])}


def _describe(config: Config) -> dict[str, str]:
    """A text for each aspect of a configuration, and for each further setting."""
    run, settings = config["run"], config.get("settings", {})
    algo = str(run.get("algo"))
    aspects = {aspect: _join_settings(settings, names) for aspect, names in GROUPS.items()}
    aspects |= dict.fromkeys(("updates per step", "warm-up steps", "steps that only measure, per step"), NONE)
    if facts := read_facts().get(algo):
        rates = (f"{network} {facts[network]:g}" for network in ("critic", "actor") if facts[network])
        aspects["updates per step"] = ", ".join(rates) or NONE
        warm_up = {**facts["settings"][""], **settings}.get("start_timesteps") if facts["warm_up"] else 0
        with suppress(TypeError, ValueError):  # of a damaged configuration
            aspects["warm-up steps"] = f"{int(warm_up or 0):,}"
        aspects["steps that only measure, per step"] = f"{facts['measured']:g}"
    frequency, episodes, final = (run.get(name, "?") for name in EVALUATION)
    aspects["evaluation"] = f"every {frequency} steps, {episodes} episodes, final {final}"
    tuned_by = (row["by"] for row in read_budgets() if row["algorithm"] == algo and row["settings"] in ALL)
    aspects["defaults tuned by"] = next(tuned_by, NONE)
    changed = ", ".join(f"{name}={text}" for name, text in overridden(config).items())
    aspects["overridden"] = changed or (DEFAULTS if settings else NONE)
    return aspects | {name: _join_settings(settings, (name,)) for name in settings if name not in GROUPED}


def _join_settings(settings: Values, names: Iterable[str]) -> str:
    """The values of some settings, each once where they are equal."""
    values = (settings.get(name) for name in names)
    texts = [setting_text(value) for value in values if value not in (None, "none", [], ())]
    return ", ".join(dict.fromkeys(texts)) or NONE


@cache
def read_budgets() -> tuple[Mapping[str, str], ...]:
    """What is known of the tuning of defaults: rows of `TUNING_BUDGETS` by column."""
    with TUNING_BUDGETS.open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))
