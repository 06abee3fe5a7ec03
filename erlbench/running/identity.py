"""The identity of a cell's problem, found out in clean processes beside what the driver does."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any

from erlbench.algorithms import registry
from erlbench.experiment.cells import Cell
from erlbench.pool.clean import in_clean_process
from erlbench.settings import toml_values
from erlbench.work import identity

GRADIENTS = ("torch", "erlbench.algorithms.gradients.updates", "erlbench.algorithms.gradients.episodes")


@dataclass(frozen=True)
class Inspection:
    """What a clean process has found out."""

    files: dict[str, str]  # of the modules that it has loaded
    model: str  # digest of the compiled model, or an empty text
    sources: dict[str, str]  # digests of the modules that belong to no distribution, as they were then

    def is_fresh(self) -> bool:
        """Whether these modules are still the same."""
        return identity.described(self.files)["modules"] == self.sources


_known: dict[Any, Future[Inspection | None]] = {}  # for the life of this process
_lock = threading.Lock()


def begin(cell: Cell) -> None:
    """Begin to find out the identity of the cell's problem; returns at once."""
    for key, find in _parts(cell.algo, cell.env, cell.env_settings):
        _future(key, find)


def identity_of(cell: Cell) -> dict[str, Any]:
    """The identity of the cell's problem here and now; empty where it cannot be found out."""
    return identity_of_run(cell.algo, cell.env, cell.env_settings, toml_values(cell.settings))


def identity_of_run(
    algo: str, env: str, env_settings: Mapping[str, Any], settings: Mapping[str, Any]
) -> dict[str, Any]:
    """As `identity_of`, of what a config.toml says."""
    futures = [_future(key, find) for key, find in _parts(algo, env, env_settings)]
    found = [future.result() for future in futures]
    parts = [part for part in found if part is not None]
    if len(parts) < len(found):
        return {}
    return {
        **identity.described({name: file for part in parts for name, file in part.files.items()}),
        "files": {
            name: identity.file_digest(path)
            for table, values in (("env_settings", env_settings), ("settings", settings))
            for name, path in identity.named_files(table, values)
        },
        "model": next((part.model for part in parts if part.model), ""),
    }


def _parts(algo: str, env: str, env_settings: Mapping[str, Any]) -> list[tuple[Any, Callable[[], Any]]]:
    """What is found out in a process each: a key of what decides it, and how."""
    settings, entry, path = dict(env_settings), registry.entry(algo), tuple(sys.path)
    files = tuple((name, identity.file_digest(name)) for _, name in identity.named_files("", settings))
    environment = partial(in_clean_process, identity.of_environment, env, settings)
    parts: list[tuple[Any, Callable[[], Any]]] = [((path, env, repr(settings), files), environment)]
    modules = [tuple(filter(None, (entry.where.partition(":")[0], entry.library)))]
    if registry.learns(algo):
        modules.append((*GRADIENTS, *registry.gradient_modules(algo)))
    return [*parts, *(((path, names), partial(in_clean_process, identity.of_modules, names)) for names in modules)]


def _future(key: Any, find: Callable[[], Any]) -> Future[Inspection | None]:
    """What is known of `key`, or what a thread finds out now."""
    with _lock:
        future = _known.get(key)
        if future is not None and future.done() and not ((part := future.result()) and part.is_fresh()):
            future = None
        if future is None:
            future = _known[key] = Future()
            threading.Thread(target=_fill, args=(future, find), name="erlbench-identity", daemon=True).start()
    return future


def _fill(future: Future[Inspection | None], find: Callable[[], Any]) -> None:
    try:
        files, model = find()
        future.set_result(Inspection(files, model, identity.described(files)["modules"]))
    except Exception:  # unknown, whatever it was; nothing to unpack where the process has not answered
        future.set_result(None)
