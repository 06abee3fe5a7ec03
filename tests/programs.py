"""Programs that some tests need and a machine may lack, and the Debian package that brings each.

A test says `@pytest.mark.needs("chromium", "chromedriver")`. Where one is missing, the test is left out and one line at
the end says so; with ERLBENCH_TEST_ALL set, as `.ci/run` does, it runs and fails.
"""

from __future__ import annotations

import importlib
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable
from ctypes.util import find_library
from typing import Any

import pytest

PACKAGES = {"chromium": "chromium", "chromedriver": "chromium-driver", "pdflatex": "texlive-latex-recommended",
    "osmesa": "libosmesa6", "zsh": "zsh", "fish": "fish"}  # fmt: skip
LIBRARIES = {"osmesa": "OSMesa"}
TEST_ALL = "ERLBENCH_TEST_ALL"


def which(name: str) -> object:
    """Where a program or, of `LIBRARIES`, a library is."""
    return find_library(LIBRARIES[name]) if name in LIBRARIES else shutil.which(name)


def missing(programs: Iterable[str], which: Callable[[str], object] = which) -> tuple[str, ...]:
    """The programs that are not there, sorted; none where all tests must run. Raises `KeyError` for an unknown one."""
    packages = {program: PACKAGES[program] for program in programs}
    return () if os.environ.get(TEST_ALL) else tuple(sorted(name for name in packages if not which(name)))


def needed_module(name: str) -> Any:
    """A module of an extra; without it the file's tests are left out, and fail where all tests must run."""
    return importlib.import_module(name) if os.environ.get(TEST_ALL) else pytest.importorskip(name)


def left_out(tests: Counter[tuple[str, ...]]) -> str:
    """The line that says how many tests were left out and how to bring them back."""
    names = sorted({name for programs in tests for name in programs})
    count = sum(tests.values())
    return (
        f"left out: {count} test{'s need' if count > 1 else ' needs'} {', '.join(names)}; on Debian: apt-get install "
        f"{' '.join(PACKAGES[name] for name in names)}"
    )
