"""What libraries are told before they are imported; imports nothing heavy itself."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from erlbench.machine.resources import limit_threads


def prepare_libraries() -> None:
    """One BLAS thread, and no search for GLFW; for this process and its children, before numpy and Gymnasium come."""
    limit_threads()
    _name_glfw()


def _name_glfw() -> None:
    """Name the library that glfw brings along, unless somebody named another one.

    Without a name glfw starts a Python that asks the library for its version. When that process is killed, or gets the
    signal that was meant for the command, no environment of MuJoCo can be made.
    """
    found = find_spec("glfw")
    variant = "wayland" if "wayland" in (os.environ.get("PYGLFW_LIBRARY_VARIANT"), _session()) else "x11"
    for place in (found and found.submodule_search_locations) or ():
        library = Path(place, variant, "libglfw.so")
        if library.is_file():
            os.environ.setdefault("PYGLFW_LIBRARY", str(library))


def _session() -> str | None:
    return None if os.environ.get("PYGLFW_LIBRARY_VARIANT") == "x11" else os.environ.get("XDG_SESSION_TYPE")
