"""Modules in the folder where a command was given: found where somebody names them, and nowhere else.

Libraries look for modules that may not be installed, such as `cuda` or `org`. If the folder were on `sys.path`, a file
of that name beside some results would be run. So the folder has a finder of its own, behind all others. It finds the
modules that `MODULE:Id` of the command names, what these import themselves, and what a worker's messages name.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

MESSAGES = "erlbench.pool.messages"  # of a driver and its own workers
REGISTRATION = "gymnasium.envs.registration"  # which imports what a named module has registered
State = tuple[str, tuple[str, ...]]

_named: set[str] = set()  # top-level modules


class ModulesHere(MetaPathFinder):
    """Finds modules in one folder."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._found: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Where a top-level module is that was named, or that a module of this folder imports; None for all others."""
        if path is not None or not (fullname in _named or self._asked()):
            return None
        found = PathFinder.find_spec(fullname, [self.folder], target)
        if found is not None:
            self._found.add(fullname)
        return found

    def _asked(self) -> bool:
        """Whether a module of this folder imports, or what it has registered, or what a message names."""
        frame = sys._getframe(2)
        while frame.f_back is not None and _top(frame.f_globals.get("__name__")) == "importlib":
            frame = frame.f_back
        name = frame.f_globals.get("__name__")
        return name == MESSAGES or (name == REGISTRATION and bool(_named)) or _top(name) in self._found


def install(folder: str | None = None, names: Iterable[str] = ()) -> None:
    """Find modules in `folder`, by default the current one, from now on; `names` are named already."""
    _named.update(names)
    folder = folder or os.getcwd()
    if not any(finder.folder == folder for finder in _finders()):
        sys.meta_path.append(ModulesHere(folder))


def name_module(module: str) -> None:
    """Let a module be found here, as the command names it."""
    if module:
        _named.add(_top(module))


def state() -> State | None:
    """What `install` needs in a worker; None where nothing is found here."""
    return next(((finder.folder, tuple(sorted(_named))) for finder in _finders()), None)


def _finders() -> list[ModulesHere]:
    return [finder for finder in sys.meta_path if isinstance(finder, ModulesHere)]


def _top(name: object) -> str:
    return name.partition(".")[0] if isinstance(name, str) else ""
