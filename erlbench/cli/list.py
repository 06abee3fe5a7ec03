"""`erlbench list`: the algorithms, environments and studies there are."""

from __future__ import annotations

import dataclasses

import click

from erlbench.cli.tables import print_table


@click.command()
@click.argument("what", type=click.Choice(["algos", "envs", "studies"]))
@click.option("-v", "--verbose", is_flag=True, help="also settings and presets, or entries and profiles")
def command(what: str, verbose: bool) -> None:
    """List the algorithms, environments or studies.

    \b
    Examples:
      erlbench list algos
      erlbench list algos -v
      erlbench list studies
    """
    {"algos": _algos, "envs": _envs, "studies": _studies}[what](verbose)


def _algos(verbose: bool) -> None:
    from erlbench.algorithms import registry
    from erlbench.settings import describe, text

    rows = [
        (
            name,
            getattr(registry.find(name), "default_workers", None) or "-",
            ", ".join(registry.presets(name)),
            registry.summary(name) + (f" (not installed: {command})" if (command := registry.missing(name)) else ""),
        )
        for name in registry.ALGORITHMS
    ]
    print_table("", ("algorithm", "workers", "presets", "summary"), rows)
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
    from erlbench.envs.registry import ids, problem

    rows = []
    for name in ids():
        found = problem(name)
        rows.append((name, found.observation_size, found.action_size, found.env.max_episode_steps))
    print_table("", ("environment", "observation", "action", "time limit"), rows)
    click.echo("Any other Gymnasium id with a flat observation and a continuous action can be run, as can MODULE:ID.")


def _studies(verbose: bool) -> None:
    from erlbench.settings import text
    from erlbench.studies import load_studies

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
            ("profile", "seeds", "steps", "environments", "settings"),
            [
                (
                    key,
                    len(p.seeds),
                    f"{p.total_timesteps:,}",
                    ", ".join(p.envs),
                    ", ".join(f"{setting}={text(value)}" for setting, value in p.settings.items()) or "-",
                )
                for key, p in study.profiles.items()
            ],
        )
