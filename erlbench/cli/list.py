"""`erlbench list`: the algorithms, environments and studies there are, and what this machine has.

Of a study, how many of its runs are done, and what those that are missing cost.
"""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import click
import gymnasium

from erlbench.algorithms import registry
from erlbench.cli.options import options_command
from erlbench.cli.tables import print_table, settings_line
from erlbench.envs import catalogue
from erlbench.envs.functions import FUNCTIONS
from erlbench.envs.options import OWN, keyword_arguments, value_text
from erlbench.envs.registry import import_environment, problem, remember_problems
from erlbench.errors import UsageError, nearest, warn
from erlbench.experiment.arguments import arguments
from erlbench.experiment.cells import run_folder
from erlbench.experiment.estimate import estimate_cell
from erlbench.experiment.requested_cells import RESULTS, requested_cells
from erlbench.experiment.studies import FILE, known_studies
from erlbench.experiment.study import Study, study_text
from erlbench.options import argument, option
from erlbench.records.run import RunFiles
from erlbench.running.admission import UNTRIED, Rules, admit, problem_finder
from erlbench.settings import FUNCTION, setting_rows
from erlbench.words import counted


@dataclass(frozen=True)
class ListOptions:
    """What is listed."""

    what: str = argument("", choices=("algos", "envs", "studies", "machine"))
    words: tuple[str, ...] = argument("[WORD]...", (), parse=lambda words, what: tuple(words))
    verbose: bool = option(False, "also settings, presets, entries and profiles", short="-v")


# What there is of one kind, by its names: what each is, how rows and details are printed, and the line after a list
# without details, with {} for its first name.
Listing = tuple[Mapping[str, str], Callable[[list[str]], None], Callable[[str], None], str]


@options_command(ListOptions)
def command(options: ListOptions) -> None:
    """List the algorithms, environments or studies, or describe this machine.

    With a WORD, only entries that have this word in their name or description are listed. A full name shows all
    details, as -v does. `machine` has cores, memory, BLAS, GPU, rendering and extras, and what to do; the
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
    if options.what == "machine":
        if options.words:
            raise UsageError(f"`erlbench list machine` takes no WORD; leave out '{options.words[0]}'")
        from erlbench.this_machine import examine

        findings = [*examine()]
        print_table("", ("what", "found"), [(finding.what, finding.state) for finding in findings])
        if advised := [(finding.what, finding.advice) for finding in findings if finding.advice]:
            print_table("What you can do", ("for", "do"), advised)
        click.get_current_context().exit(int(any(finding.serious for finding in findings)))
    words = [*options.words]
    list_kind = {"algos": _list_algorithms, "envs": _list_environments, "studies": _list_studies}[options.what]
    described, print_rows, print_details, hint = list_kind(words)
    chosen = _choose(described, words)
    print_rows(chosen)
    if not options.verbose and chosen != words:
        click.echo(hint.format(chosen[0]))
        return
    for name in chosen:
        print_details(name)


def _choose(described: Mapping[str, str], words: list[str]) -> list[str]:
    """The names that `words` are, else those that have all of them in name or description."""
    if words and {*words} <= {*described}:
        return words
    texts = {name: f"{name} {text}".lower() for name, text in described.items()}
    chosen = [name for name, text in texts.items() if all(word.lower() in text for word in words)]
    if not chosen:
        raise UsageError(f"nothing has {' and '.join(words)} in its name or description{nearest(words[0], described)}")
    return chosen


def _list_algorithms(words: list[str]) -> Listing:
    described = {
        name: registry.summary(name) + (f" (not installed: {command})" if (command := registry.missing(name)) else "")
        for name in (*registry.names(), *(word for word in words if ":" in word))  # also classes by module:Class
    }
    return (
        described,
        lambda names: print_table("", ("algorithm", "what it is"), [(name, described[name]) for name in names]),
        _print_algorithm,
        "Settings and presets: erlbench list algos {}",
    )


def _print_algorithm(name: str) -> None:
    """Workers, presets and settings of one algorithm."""
    algorithm = registry.find(name)
    if workers := algorithm.default_workers:
        click.echo(f"\n{name}: {counted(workers, 'worker')} (--workers)")
    presets = [(preset, settings_line(values) or "the defaults") for preset, values in registry.presets(name).items()]
    print_table(f"Presets of {name} (--algo {name}@PRESET)", ("preset", "settings"), presets)
    settings = []
    for row in setting_rows(algorithm.settings_type):
        by_env = f"; default by environment: {row.by_env}" if row.by_env else ""
        settings.append((row.name, row.default, f"{row.help} [{row.allowed}{by_env}] ({row.source})"))
    print_table(f"Settings of {name} (--set SETTING=VALUE)", ("setting", "default", "what it is"), settings)


def _list_environments(words: list[str]) -> Listing:
    described = {row.id: f"{row.source} {row.extra}" for row in catalogue.LISTED.values()}
    for word in words:  # MODULE:ID, ids of Gymnasium, other games than the listed ones, and ID@PRESET
        is_listed = word.partition("@")[0] in described and catalogue.canonical(word)  # refuses other presets
        is_game = catalogue.find_namespace(word) and "-v" in word
        if is_listed or ":" in word or word in gymnasium.registry or is_game:
            described.setdefault(word, "")
    hint = (
        "obs: numbers observed. act: dimensions of an action. steps: longest episode.\n"
        "@NAME is a preset: --env ID@NAME. An extra is installed by:\n"
        "  pip install 'erlbench[EXTRA]'\n"
        "Any other Gymnasium id can be run, too, and MODULE:ID, if its actions are bounded\n"
        "or discrete: erlbench list envs MODULE:ID."
    )
    return described, _print_environments, _print_environment, hint


def _print_environments(names: list[str]) -> None:
    """A line for each environment; one that the suite does not list is made in a separate process."""
    rows: list[tuple[object, ...]] = []
    for name in map(catalogue.canonical, names):
        row = catalogue.LISTED.get(name.partition("@")[0])
        made = admit(name, {}, UNTRIED).problem if row is None or "@" in name else None  # a preset may change it
        if row is None:
            assert made is not None
            rows.append(
                (
                    name,
                    made.observation_size,
                    made.action_size,
                    made.env.max_episode_steps,
                    "discrete" if made.discrete else "-",
                )
            )
        else:
            observation = made.observation_size if made else row.observation
            remarks = ["discrete"] * row.discrete + [f"@{preset}" for preset in [*row.presets][1:]]
            if row.extra:
                remarks.append(f"extra {row.extra}{'' if catalogue.installed(row.extra) else ' (not installed)'}")
            rows.append((name, observation, row.action, row.limit, ", ".join(remarks) or "-"))
    print_table("", ("environment", "obs", "act", "steps", "remarks"), rows)


def _print_environment(name: str) -> None:
    """What the presets of an environment change, its settings if it can be made here, and a function's domain."""
    env_id, preset = catalogue.split_preset(name)
    if row := catalogue.LISTED.get(env_id):
        if presets := [(key, _describe_preset(values)) for key, values in row.presets.items() if preset in ("", key)]:
            print_table(f"Presets of {env_id} (--env {env_id}@PRESET)", ("preset", "what it changes"), presets)
        if row.extra and not catalogue.installed(row.extra):
            return
    import_environment(env_id)
    defaults = dict.fromkeys(OWN) | {key: argument.default for key, argument in keyword_arguments(env_id).items()}
    defaults |= catalogue.find_preset(name).kwargs
    function = FUNCTIONS.get(env_id.removeprefix(FUNCTION))
    if row and function is not None:
        defaults["dimension"] = row.action
    texts = [(key, "" if value is inspect.Parameter.empty else value_text(value)) for key, value in defaults.items()]
    print_table(f"Settings of {name} (--env-set)", ("setting", "default"), texts)
    if function is not None:
        click.echo(f"Domain, where a search starts: {-function[1]:g} to {function[1]:g} in each dimension")


def _describe_preset(preset: catalogue.Preset) -> str:
    """How an environment's preset differs from the environment that is registered."""
    words = [f"{name}={value_text(value)}" for name, value in preset.kwargs.items()]
    if reward := preset.terminal_reward:
        words.append(f"reward +{reward:g} on the step that terminates an episode")
    if preset.reward_before:
        words.append("a step pays for the state that it starts from")
    if zeros := sum(preset.zeros.values()):
        words.append(f"{counted(zeros, 'observation')} added, always 0")
    return ", ".join(words) or "nothing"


def _list_studies(words: list[str]) -> Listing:
    files = (path for depth in ("*", "*/*") for path in sorted(RESULTS.glob(f"{depth}/{FILE}")))
    mistakes: list[str] = []
    loaded = [known_studies(warn=mistakes.append, folders=[path.parent]) for path in files if not path.is_symlink()]
    stored = [study for of_folder in loaded for study in of_folder.values() if study.file and study.file.name == FILE]
    count = Counter(study.name for study in stored)
    studies = {name: study for name, study in known_studies(warn=mistakes.append).items() if name not in count}
    for study in stored:
        studies[study.name if count[study.name] == 1 else f"{study.name} in {_results_folder(study, '')}"] = study
    for mistake in dict.fromkeys(mistakes):
        warn(mistake)
    return (
        {
            name: f"{study.published_source} {study.table} {study.title} {study.claim} {study.source}"
            for name, study in studies.items()
        },
        lambda names: _print_studies({name: studies[name] for name in names}),
        lambda name: _print_study(studies[name]),
        "Entries, budgets and prices: erlbench list studies {}",
    )


def _print_studies(studies: Mapping[str, Study]) -> None:
    """A line for each study."""
    rows = []
    for label, study in studies.items():
        begun = []
        for name in study.profiles:
            missing, total = _find_missing(study, name)
            if missing < total or not name:
                begun.append(f"{name} {total - missing} of {total}".strip())
        source = study.published_source or study.source or "-"
        rows.append((label, source, ", ".join(begun) or "-", study.claim or study.title))
    print_table("", ("study", "source", "runs done", "claim or title"), rows)


def _print_study(study: Study) -> None:
    """One study as its file has it, and the runs of each budget that are missing, with their price."""
    text = re.sub(
        r"\[\s+([\d,\s]+),\s+\]",
        lambda seeds: f"[{' '.join(seeds[1].split())}]",
        study_text(study.name, study.as_table),
    )
    click.echo(f"\n{text}\nSHA-256 {study.sha256}")
    rows, remarks = [], dict[str, None]()
    for name, profile in study.profiles.items():
        missing, total = _find_missing(study, name)
        try:
            price = _price(study, name)
        except UsageError as error:
            price, remarks[str(error)] = "-", None
        rows.append((name or "-", len(profile.seeds), total - missing, missing, price))
    title = f"{'Profiles' if study.has_profiles else 'Budget'} of {study.name}"
    print_table(title, ("profile", "seeds", "done", "missing", "core-hours"), rows)
    for remark in remarks:
        click.echo(remark)


def _results_folder(study: Study, profile: str) -> Path:
    return study.file.parent if study.file and study.file.name == FILE else RESULTS / (profile or study.name)


def _find_missing(study: Study, profile: str) -> tuple[int, int]:
    """How many runs of a study's profile are not done, and how many it has."""
    out, budget = _results_folder(study, profile), study.profiles[profile]
    triples = (
        (entry, env, seed) for entry in study.entries for env in budget.entry_envs(entry) for seed in budget.seeds
    )
    are_done = [_is_done(run_folder(out, env, entry.name, seed)) for entry, env, seed in triples]
    return are_done.count(False), len(are_done)


def _is_done(run: Path) -> bool:
    return RunFiles(run).status().get("status") == "done"


def _price(study: Study, profile: str) -> str:
    """The core-hours of the runs that are missing; `UsageError` where there is no number."""
    tried = problem_finder(Rules(anyway=True))  # users' environments; a price needs no trial of the catalogue's
    find_problem = remember_problems(lambda env, given: (tried if catalogue.find_module(env) else problem)(env, given))
    request = {"study": (study.name,), "profile": profile or None, "out": str(_results_folder(study, profile))}
    cells = [cell for cell in requested_cells(arguments(request), find_problem) if not _is_done(cell.directory)]
    hours = sum(estimate_cell(cell, 1, find_problem).core_seconds for cell in cells) / 3600
    return f"{hours:,.0f}" if hours >= 10 else f"{hours:.2g}"
