"""Programs that some tests need and a machine may lack, and the Debian package that brings each.

A test says `@pytest.mark.needs("chromium", "chromedriver")`. Where one is missing, the test is skipped, and a line
at the end says what to install; with ERLBENCH_TEST_ALL set, as `.ci/run` does, it runs and fails.
"""

from __future__ import annotations

import importlib
import os
import shutil
from collections.abc import Iterable
from ctypes.util import find_library
from typing import Any

import pytest

from erlbench.envs.catalogue import installed

PACKAGES = {"chromium": "chromium", "chromedriver": "chromium-driver", "pdflatex": "texlive-latex-recommended",
    "osmesa": "libosmesa6", "zsh": "zsh", "fish": "fish"}  # fmt: skip
LIBRARIES = {"osmesa": "OSMesa"}
TEST_ALL = "ERLBENCH_TEST_ALL"


def is_there(name: str) -> bool:
    """Whether a program or, of `LIBRARIES`, a library is there."""
    return bool(find_library(LIBRARIES[name]) if name in LIBRARIES else shutil.which(name))


def missing(programs: Iterable[str]) -> dict[str, str]:
    """The packages of programs that are not there; none where all tests must run. `KeyError` for an unknown one."""
    packages = {name: PACKAGES[name] for name in sorted(programs)}
    return {name: each for name, each in packages.items() if not (os.environ.get(TEST_ALL) or is_there(name))}


def needed_module(name: str) -> Any:
    """A module of an extra; without it the file's tests are left out, and fail where all tests must run."""
    return importlib.import_module(name) if os.environ.get(TEST_ALL) else pytest.importorskip(name)


def needed_extra(name: str) -> None:
    """Skip a test without an extra, such as PyBullet on Python 3.12; it fails where all tests must run."""
    if name and not installed(name) and not os.environ.get(TEST_ALL):
        pytest.skip(f"needs the extra {name}")
