"""The identity of a problem: versions, source files and the compiled model that a run's numbers depend on.

    {"versions": {distribution: version}, "modules": {module: SHA-256}, "files": {setting: SHA-256}, "model": SHA-256}

`versions` has the distributions of all modules that environment and algorithm load, `modules` those that belong to no
installed distribution, `files` what settings name. Neither paths nor erlbench's version are part of it.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib import metadata
from operator import attrgetter
from pathlib import Path
from typing import Any

from erlbench.files import table_in
from erlbench.records.run import starts

Identity = Mapping[str, Any]

FIRST = "multiprocess"  # what is loaded before it, Python loads by itself: hooks of site-packages
OWN = "erlbench"
MODELS = ("model", "sim.model", "physics.model.ptr", "_env.physics.model.ptr")  # of an environment: where MjModel is
PATHS = ("paths", "npaths", "nbuffer", "signature")  # of a model; and the addresses in `paths`
RENDERERS = {"OpenGL": "PyOpenGL", "glfw": "glfw"}  # modules that MUJOCO_GL chooses; no number depends on them
PYTHONS = tuple(f"{sysconfig.get_path(name)}/" for name in ("stdlib", "platstdlib"))  # folders of the standard library
WORDS = {"versions": "package {}", "modules": "source of module {}", "files": "file of {}"}


def list_loaded_files() -> dict[str, str]:
    """The files of the modules that this process has loaded, by module; neither Python's nor erlbench's."""
    names = list(sys.modules)
    files = {}
    for name in names[names.index(FIRST) if FIRST in names else 0 :]:
        file = getattr(sys.modules.get(name), "__file__", None)
        if isinstance(file, str) and name.partition(".")[0] not in (OWN, "__main__", "__mp_main__", *RENDERERS):
            files[name] = file
    return {name: file for name, file in files.items() if not _is_pythons(file)}


def import_modules(report: object, names: Iterable[str]) -> dict[str, str]:
    """Import modules in this process; `list_loaded_files` then. `report`: see `Inspection`."""
    for name in names:
        importlib.import_module(name)
    return list_loaded_files()


def _is_pythons(file: str) -> bool:
    """Whether a file is of the standard library."""
    return file.startswith(PYTHONS) and "-packages/" not in file


def describe_files(modules: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """`versions` and `modules` of what `list_loaded_files` found, as they are on this machine now."""
    versions: dict[str, str] = {}
    sources: dict[str, str] = {}
    for name, file in modules.items():
        if owner := _owner(file):
            versions.update([owner])
        elif digest := file_digest(file):
            sources[name] = digest
    return {"versions": dict(sorted(versions.items())), "modules": dict(sorted(sources.items()))}


def _owner(file: str) -> tuple[str, str] | None:
    """Name and version of the distribution that installed a file; a module's name may be any."""
    for path in filter(None, sys.path):
        if file.startswith(f"{path}/"):
            top = _top(file[len(path) + 1 :])
            if top in _installed(path):
                return _named(path, top)
    return None


@cache
def _installed(place: str) -> dict[str, metadata.Distribution]:
    """What is installed in a folder, and not only developed there, by the first parts of its files' paths."""
    distributions: dict[str, metadata.Distribution] = {}
    for distribution in metadata.distributions(path=[place]):
        for top in {_top(line) for line in (distribution.read_text("RECORD") or "").splitlines()}:
            distributions.setdefault(top, distribution)
    return distributions


@cache
def _named(place: str, top: str) -> tuple[str, str]:
    distribution = _installed(place)[top]
    return distribution.name, distribution.version


def _top(path: str) -> str:
    """The top-level module of a file."""
    return path.partition("/")[0].partition(".")[0]


def file_digest(path: str | Path) -> str:
    """SHA-256 of a regular file; empty where there is none."""
    try:
        if os.path.isfile(path):
            with open(path, "rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError):
        pass
    return ""


def named_files(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """The files that a setting, or a part of it, names by a text: `name` of the part, and the file."""
    if isinstance(value, str):
        path = os.path.expanduser(value)
        with suppress(OSError, ValueError):
            if os.path.isfile(path):
                yield name, path
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from named_files(f"{name}.{key}", item)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from named_files(f"{name}[{index}]", item)


def model_digest(env: Any) -> str:
    """SHA-256 of the compiled MuJoCo model of an environment; empty where it has none."""
    mujoco = sys.modules.get("mujoco")
    for path in MODELS if mujoco else ():
        with suppress(Exception):  # attributes of foreign modules may do anything
            if isinstance(model := attrgetter(path)(env.unwrapped), mujoco.MjModel):  # type: ignore[union-attr]
                digest = hashlib.sha256()
                for name, value in _values(model):
                    digest.update(f"{name} {value}".encode() if not isinstance(value, bytes) else value)
                return digest.hexdigest()
    return ""


def _values(structure: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """All values of a MuJoCo structure but those that depend on paths; fields only, so no padding between them."""
    for name in sorted(dir(structure)):
        if name.startswith("_") or name in PATHS or name.endswith("_pathadr"):
            continue
        value = getattr(structure, name)
        if callable(value):
            continue
        if hasattr(value, "tobytes"):
            yield f"{prefix}{name}", f"{value.dtype} {value.shape}"
            yield "", value.tobytes()
        elif isinstance(value, bool | int | float | bytes):
            yield f"{prefix}{name}", repr(value)
        else:
            yield from _values(value, f"{prefix}{name}.")


def changes(before: Identity, now: Identity) -> list[str]:
    """What differs between two identities, in words: "package numpy 2.1.0 -> 2.2.0"; nothing where one is unknown."""
    if not before or not now:
        return []
    lines = []
    for section, words in WORDS.items():
        recorded_part, current_part = table_in(before, section), table_in(now, section)
        for name in sorted((recorded_part.keys() | current_part.keys()) - set(RENDERERS.values())):
            old, new = recorded_part.get(name), current_part.get(name)
            if old != new:
                lines.append(f"{words.format(name[:80])} {_change(old, new, section == 'versions')}")
    if before.get("model") != now.get("model"):
        lines.append("compiled MuJoCo model changed")
    return lines


def last_identity(meta: Mapping[str, Any]) -> Identity:
    """The identity of the last start in a run's meta.json that recorded one; empty where none did."""
    return [{}, *list_identities(meta)][-1]


def list_identities(meta: Mapping[str, Any]) -> list[Identity]:
    """The identities of the starts in a run's meta.json, in their order, where they were recorded."""
    identities = [start.get("identity") for start in starts(meta)]
    return [identity for identity in identities if isinstance(identity, dict) and identity]


def _change(old: Any, new: Any, shown: bool) -> str:
    if shown:
        return f"{str(old or 'not loaded')[:40]} -> {str(new or 'not loaded')[:40]}"
    return "changed" if old and new else "not there any more" if old else "new"
