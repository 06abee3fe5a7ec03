"""The identity of a cell's problem, found out in clean processes beside what the driver does."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from concurrent.futures import Future
from functools import partial
from typing import Any

from erlbench.algorithms import registry
from erlbench.experiment.cells import Cell
from erlbench.pool.clean import in_clean_process
from erlbench.running import admission
from erlbench.running.admission import Rules
from erlbench.running.inspections import Inspection, inspection, of_files
from erlbench.settings import toml_values
from erlbench.work import identity

TRIED, UNTRIED = Rules(), Rules(tries=False)
GRADIENTS = ("torch", "erlbench.algorithms.gradients.updates", "erlbench.algorithms.gradients.episodes")


def begin(cell: Cell, rules: Rules = TRIED) -> None:
    """Begin to find out the identity of the cell's problem; returns at once."""
    _parts(cell.algo, cell.env, cell.env_settings, rules)


def identity_of(cell: Cell, rules: Rules = TRIED) -> dict[str, Any]:
    """The identity of the cell's problem here and now; empty where it cannot be found out."""
    return identity_of_run(cell.algo, cell.env, cell.env_settings, toml_values(cell.settings), rules)


def identity_of_run(
    algo: str, env: str, env_settings: Mapping[str, Any], settings: Mapping[str, Any], rules: Rules = UNTRIED
) -> dict[str, Any]:
    """As `identity_of`, of what a config.toml says."""
    parts = [future.result() for future in _parts(algo, env, env_settings, rules)]
    if any(part.files is None for part in parts):
        return {}
    return {
        **identity.described({name: file for part in parts for name, file in (part.files or {}).items()}),
        "files": {
            name: identity.file_digest(path)
            for table, values in (("env_settings", env_settings), ("settings", settings))
            for name, path in identity.named_files(table, values)
        },
        "model": next((part.model for part in parts if part.model), ""),
    }


def _parts(algo: str, env: str, env_settings: Mapping[str, Any], rules: Rules) -> list[Future[Inspection]]:
    """What is found out in a process each."""
    entry, path = registry.entry(algo), tuple(sys.path)
    modules = [tuple(filter(None, (entry.where.partition(":")[0], entry.library)))]
    if registry.learns(algo):
        modules.append((*GRADIENTS, *registry.gradient_modules(algo)))
    return [
        admission.begin(env, env_settings, rules),
        *(inspection((path, names), partial(_loaded_by, names)) for names in modules),
    ]


def _loaded_by(names: tuple[str, ...]) -> Inspection:
    """What a process has loaded that imports these modules."""
    files = in_clean_process(identity.of_modules, names)
    return Inspection(failure="no answer") if files is None else of_files(None, files)
