"""`erlbench list`: the algorithms, environments and studies there are, and what this machine has."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import click

from erlbench.cli.options import options_command
from erlbench.cli.tables import print_table, settings_line
from erlbench.envs import catalogue
from erlbench.errors import UsageError, nearest
from erlbench.options import argument, option
from erlbench.settings import setting_rows
from erlbench.words import counted

CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")  # where a word of HalfCheetah begins


@dataclass(frozen=True, kw_only=True)
class ListOptions:
    """What is listed."""

    what: str = argument("WHAT", choices=("algos", "envs", "studies", "machine"))
    words: tuple[str, ...] = argument("[WORD]...", (), parse=lambda words, what: tuple(words))
    verbose: bool = option(False, "also settings, presets, entries and profiles", short="-v")


@options_command(ListOptions)
def command(options: ListOptions) -> None:
    """List the algorithms, environments or studies, and what this machine has for runs.

    With a WORD, only entries that have this word in their name or description are listed, names first. A full name
    shows all details, as -v does. `machine` has cores, memory, BLAS, GPU, rendering and extras, and what to do; the
    exit code is 1 if runs would fail.

    \b
    Examples:
      erlbench list algos
      erlbench list algos td3
      erlbench list algos erlbench_my_search:MySearch
      erlbench list envs hopper
      erlbench list envs Hopper-v5@paper
      erlbench list studies esac
      erlbench list machine
    """
    listings = {"algos": _algos, "envs": _envs, "studies": _studies, "machine": _machine}
    listings[options.what](options.words, options.verbose)


def _choose(described: Mapping[str, str], words: Sequence[str], what: str) -> list[str]:
    """The names that `words` are, else those with all of `words`: in the name first, then also in the description.

    Words are whole words: of `Hopper-v5`, `hopper` is one. Where no entry has them, parts of names do, too. A
    `UsageError` where none is left.
    """
    if words and {*words} <= {*described}:
        return [*words]
    whole = (rf"(?=.*(?<![^\W_]){re.escape(word)}(?![^\W_]))" for word in words)
    pattern = re.compile("".join(whole), re.IGNORECASE | re.DOTALL)
    names = {name: f"{name} {CAPITAL.sub(' ', name)} " for name in described}  # `Half Cheetah`, too
    matching = [name for name, text in described.items() if pattern.match(names[name] + text)]
    matching.sort(key=lambda name: not pattern.match(names[name]))
    matching = matching or [name for name in described if all(word.lower() in name.lower() for word in words)]
    if not matching:
        raise UsageError(
            f"no {what} has {' and '.join(words)} in its name or description{nearest(words[0], described)}"
        )
    return matching


def _algos(words: Sequence[str], verbose: bool) -> None:
    from erlbench.algorithms import registry

    described = {
        name: registry.summary(name) + (f" (not installed: {command})" if (command := registry.missing(name)) else "")
        for name in (*registry.names(), *(word for word in words if ":" in word))  # classes by module:Class, too
    }
    chosen = _choose(described, words, "algorithm")
    print_table("", ("algorithm", "what it is"), [(name, described[name]) for name in chosen])
    if verbose or chosen == [*words]:
        for name in chosen:
            _algo(name)
    else:
        click.echo(f"Settings and presets: erlbench list algos {chosen[0]}")


def _algo(name: str) -> None:
    """Workers, presets and settings of one algorithm."""
    from erlbench.algorithms import registry

    algorithm = registry.find(name)
    if workers := algorithm.default_workers:
        click.echo()
        print_table(name, ("", ""), [("workers", f"{workers} (--workers)")])
    presets = [(preset, settings_line(values) or "the defaults") for preset, values in registry.presets(name).items()]
    click.echo()
    print_table(f"Presets of {name} (--algo {name}@PRESET)", ("preset", "settings"), presets)
    settings = []
    for row in setting_rows(algorithm.settings_type):
        by_env = f"; default by environment: {row.by_env}" if row.by_env else ""
        settings.append((row.name, row.default, f"{row.help} [{row.allowed}{by_env}] ({row.source})"))
    click.echo()
    print_table(f"Settings of {name} (--set SETTING=VALUE)", ("setting", "default", "what it is"), settings)


def _envs(words: Sequence[str], verbose: bool) -> None:
    import gymnasium

    from erlbench.envs.registry import problem

    ids = [env_id if (env_id := word.partition("@")[0]) in catalogue.LISTED else word for word in words]
    others = [name for name in ids if name not in catalogue.LISTED and (":" in name or name in gymnasium.registry)]
    for name in others:
        _other(name)
    if others and len(others) == len(words):
        return
    ids = [name for name in ids if name not in others]
    words = [word for word in words if word not in others]
    described = {row.id: f"{row.source} {row.extra}" for row in catalogue.LISTED.values()}
    chosen = _choose(described, ids, "environment")
    exact = chosen == ids
    names = [catalogue.canonical(word) for word in words] if exact else chosen
    rows = []
    for name in names:
        row = catalogue.LISTED[name.partition("@")[0]]
        observation = problem(name).observation_size if "@" in name else row.observation  # a preset may change it
        remarks = ["discrete"] * row.discrete + [f"@{preset}" for preset in [*row.presets][1:]]
        if row.extra:
            remarks.append(f"extra {row.extra}{'' if catalogue.installed(row.extra) else ' (not installed)'}")
        rows.append((name, observation, row.action, row.limit, ", ".join(remarks) or "-"))
    print_table("", ("environment", "obs", "act", "steps", "remarks"), rows)
    if verbose or exact:
        for name in names:
            _env(name)
        return
    click.echo(
        "obs: numbers observed. act: dimensions of an action. steps: longest episode.\n"
        "@NAME is a preset: --env ID@NAME. An extra is installed by:\n"
        "  pip install 'erlbench[EXTRA]'\n"
        "Any other Gymnasium id can be run, too, and MODULE:ID, if its actions are bounded\n"
        "or discrete: erlbench list envs MODULE:ID."
    )


def _other(name: str) -> None:
    """What an environment is that the suite does not list; its module is imported in a process of its own."""
    from erlbench.running.admission import LIMIT
    from erlbench.work.facts import answer_of
    from erlbench.work.inspection import ask

    facts, failure = ask(answer_of, name, limit=LIMIT)
    if isinstance(facts, str) or facts is None:
        raise UsageError(facts or f"environment '{name}' cannot be looked at: {failure}")
    print_table(name, ("", ""), [*facts.rows, *([("cannot be run", facts.refusal)] if facts.refusal else [])])
    click.echo()
    print_table(f"Settings of {name} (--env-set)", ("setting", "default", "kind"), facts.settings)


def _env(name: str) -> None:
    """What the presets of an environment change, its settings if it can be made here, and a function's domain."""
    from erlbench.envs.functions import FUNCTIONS
    from erlbench.envs.options import OWN, keyword_arguments, value_text
    from erlbench.envs.registry import import_module_of

    env_id, preset = catalogue.split_preset(name)
    row = catalogue.LISTED[env_id]
    if presets := [(key, _changes(values)) for key, values in row.presets.items() if preset in ("", key)]:
        click.echo()
        print_table(f"Presets of {env_id} (--env {env_id}@PRESET)", ("preset", "what it changes"), presets)
    if row.extra and not catalogue.installed(row.extra):
        return
    import_module_of(env_id)
    defaults = dict.fromkeys(OWN) | {key: argument.default for key, argument in keyword_arguments(env_id).items()}
    defaults |= catalogue.preset_of(name).kwargs
    function = FUNCTIONS.get(env_id.removeprefix(catalogue.FUNCTION))
    if function is not None:
        defaults["dimension"] = row.action
    texts = [(key, "" if value is inspect.Parameter.empty else value_text(value)) for key, value in defaults.items()]
    click.echo()
    print_table(f"Settings of {name} (--env-set)", ("setting", "default"), texts)
    if function is not None:
        click.echo(f"Domain, where a search starts: {-function[1]:g} to {function[1]:g} in each dimension")


def _changes(preset: catalogue.Preset) -> str:
    """How an environment's preset differs from the environment that is registered."""
    from erlbench.envs.options import value_text

    words = [f"{name}={value_text(value)}" for name, value in preset.kwargs.items()]
    words += [f"reward +{preset.terminal_reward:g} on the step that terminates an episode"] * bool(
        preset.terminal_reward
    )
    words += ["a step pays for the state that it starts from"] * preset.reward_before
    words += [f"{counted(sum(preset.zeros.values()), 'observation')} added, always 0"] * bool(preset.zeros)
    return ", ".join(words) or "nothing"


def _studies(words: Sequence[str], verbose: bool) -> None:
    from erlbench.cli.study_list import print_studies, print_study, stored_studies

    studies = stored_studies()
    described = {
        name: f"{study.published_source} {study.table} {study.title} {study.claim} {study.source}"
        for name, study in studies.items()
    }
    chosen = _choose(described, words, "study")
    print_studies([studies[name] for name in chosen])
    if verbose or chosen == [*words]:
        for name in chosen:
            print_study(studies[name])
    else:
        click.echo(f"Entries, budgets and prices: erlbench list studies {chosen[0]}")


def _machine(words: Sequence[str], verbose: bool) -> None:
    """What this machine has for runs; the exit code is 1 if runs would fail."""
    from erlbench.this_machine import examine

    findings = {finding.what: finding for finding in examine()}
    described = {what: finding.found for what, finding in findings.items()}
    chosen = [findings[what] for what in _choose(described, words, "line")]
    print_table("", ("what", "found"), [(finding.what, finding.found) for finding in chosen])
    if advised := [(finding.what, finding.advice) for finding in chosen if finding.advice]:
        click.echo()
        print_table("What you can do", ("for", "do"), advised)
    click.get_current_context().exit(int(any(finding.serious for finding in chosen)))
