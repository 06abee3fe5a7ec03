"""`erlbench list`: the algorithms, environments and studies there are."""

from __future__ import annotations

import dataclasses
import inspect
from typing import TYPE_CHECKING

import click

from erlbench.cli.tables import print_table

if TYPE_CHECKING:
    from erlbench.experiment.studies import Profile


@click.command()
@click.argument("what", type=click.Choice(["algos", "envs", "studies"]))
@click.option("-v", "--verbose", is_flag=True, help="also settings, presets, entries and profiles")
def command(what: str, verbose: bool) -> None:
    """List the algorithms, environments or studies.

    \b
    Examples:
      erlbench list algos
      erlbench list algos -v
      erlbench list envs
      erlbench list studies
    """
    {"algos": _algos, "envs": _envs, "studies": _studies}[what](verbose)


def _algos(verbose: bool) -> None:
    from erlbench.algorithms import registry
    from erlbench.experiment.settings import describe, text

    rows = [
        (
            name,
            getattr(registry.find(name), "default_workers", None) or "-",
            ", ".join(listed.actions),
            registry.summary(name) + (f" (not installed: {command})" if (command := registry.missing(name)) else ""),
            ", ".join(registry.presets(name)),
        )
        for name, listed in registry.ALGORITHMS.items()
    ]
    print_table("", ("algorithm", "workers", "actions", "summary", "presets"), rows)
    click.echo("The first preset is the default; another one is ALGORITHM@PRESET.")
    if not verbose:
        return
    for name in registry.ALGORITHMS:
        settings = describe(registry.find(name).settings_type)
        click.echo()
        print_table(
            f"Settings of {name}",
            [item.name for item in dataclasses.fields(settings[0])],
            [dataclasses.astuple(row) for row in settings],
        )
        presets = [
            (preset, ", ".join(f"{key}={text(value)}" for key, value in values.items()) or "the defaults")
            for preset, values in registry.presets(name).items()
        ]
        click.echo()
        print_table(f"Presets of {name}", ("preset", "settings"), presets)


def _envs(verbose: bool) -> None:
    from erlbench.envs import catalogue

    rows = [
        (
            row.id,
            row.observation,
            f"{row.action} discrete" if row.discrete else row.action,
            row.limit,
            ", ".join(row.presets) or "-",
            f"{row.extra}{'' if catalogue.installed(row.extra) else ' (not installed)'}" if row.extra else "-",
            row.source,
        )
        for row in catalogue.LISTED.values()
    ]
    print_table("", ("environment", "observation", "action", "time limit", "presets", "extra", "source"), rows)
    click.echo(
        "The first preset is the default; another one is ID@PRESET. An extra is installed by: pip install "
        "'erlbench[EXTRA]'.\nAny other Gymnasium id with a flat observation and bounded or discrete actions "
        "can be run, as can MODULE:ID."
    )
    if verbose:
        _env_settings()


def _env_settings() -> None:
    """The settings of each environment that can be made here."""
    from erlbench.envs import catalogue
    from erlbench.envs.options import OWN, parameters
    from erlbench.envs.registry import import_module_of

    for row in catalogue.LISTED.values():
        if row.extra and not catalogue.installed(row.extra):
            continue
        import_module_of(row.id)
        known = dict.fromkeys(OWN, "") | {name: value.default for name, value in parameters(row.id).items()}
        settings = [(name, "" if value in ("", inspect.Parameter.empty) else value) for name, value in known.items()]
        click.echo()
        print_table(f"Settings of {row.id} (--env-set)", ("setting", "default"), settings)


def _budget(profile: Profile) -> str:
    """`1,000,000; Ant-v5: 5,000,000`, or `300 generations` where they end the runs."""
    if profile.total_generations is not None:
        return f"{profile.total_generations:,} generations"
    own = [f"{env}: {steps:,}" for env, steps in profile.env_timesteps.items()]
    own += [
        f"{entry} on {env}: {steps:,}" for entry, envs in profile.entry_timesteps.items() for env, steps in envs.items()
    ]
    return "; ".join([f"{profile.total_timesteps:,}", *own])


def _studies(verbose: bool) -> None:
    from erlbench.experiment.settings import text
    from erlbench.experiment.studies import load_studies

    studies = load_studies()
    rows = [
        (name, study.source, study.table, study.kind, ", ".join(study.profiles), study.title)
        for name, study in studies.items()
    ]
    print_table("", ("study", "source", "table", "kind", "profiles", "title"), rows)
    if not verbose:
        return
    for name, study in studies.items():
        click.echo()
        print_table(
            f"Entries of {name}",
            ("name", "algorithm", "preset", "workers", "label"),
            [(e.name, e.algo, e.preset, e.workers or "-", e.label) for e in study.entries],
        )
        click.echo()
        print_table(
            f"Profiles of {name}",
            ("profile", "seeds", "budget", "environments", "settings"),
            [
                (
                    key,
                    len(p.seeds),
                    _budget(p),
                    ", ".join(p.envs),
                    ", ".join(f"{setting}={text(value)}" for setting, value in p.settings.items()) or "-",
                )
                for key, p in study.profiles.items()
            ],
        )
