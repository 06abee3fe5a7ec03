"""What the shell completes: names of algorithms, environments, studies; imported only when Tab is pressed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import click

Complete = Callable[[click.Context, click.Parameter, str], list[str]]


def algorithms() -> list[str]:
    """Algorithms, and those with a preset as NAME@PRESET."""
    from erlbench.algorithms import registry

    names = registry.names()
    return names + [f"{name}@{preset}" for name in names for preset in [*registry.presets(name)][1:]]


def environments() -> list[str]:
    """Listed environments, and those with a preset as ID@PRESET."""
    from erlbench.envs.catalogue import LISTED

    return [*LISTED, *(f"{row.id}@{preset}" for row in LISTED.values() for preset in [*row.presets][1:])]


def studies() -> list[str]:
    """All studies that are known in this folder."""
    from erlbench.experiment.studies import known_studies

    return [*known_studies(warn=lambda message: None)]


def complete(values: Callable[[], Iterable[str]]) -> Complete:
    """Completes the last name of a list such as `td3,ce`."""

    def completed(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [f"{before}{comma}{value}" for value in values() if value.startswith(last)]

    return completed


def complete_words(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """The words of `erlbench list WHAT`."""
    values = {"algos": algorithms, "envs": environments, "studies": studies}.get(context.params.get("what", ""), list)
    return complete(values)(context, parameter, incomplete)


COMPLETIONS: Mapping[str, Complete] = {  # by the option's name
    "algo": complete(algorithms),
    "env": complete(environments),
    "study": complete(studies),
    "profile": complete(lambda: ["smoke", "laptop", "paper"]),
    "device": complete(lambda: ["auto", "cpu", "cuda"]),
    "words": complete_words,
}
