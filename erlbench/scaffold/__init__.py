"""What `erlbench new` writes: a package of its own that brings one algorithm, with its test."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from string import Template

from erlbench.errors import UsageError
from erlbench.files import writable

NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
FILES = {  # template -> the file's place in the package
    "pyproject.toml.txt": "pyproject.toml",
    "README.md.txt": "README.md",
    "test_algorithm.py.txt": "tests/test_$module.py",
}


def write_algorithm(name: str, folder: Path, known: Sequence[str], ask_tell: bool = False) -> list[Path]:
    """Write the package of the algorithm `name` to `folder`, which must be new; the files written.

    Its search is an `Algorithm`, or an object with ask and tell.

    A `UsageError` for a name that is taken or is none, and for a folder that exists or cannot be written.
    """
    if not NAME.fullmatch(name):
        raise UsageError(f"'{name}' is no name of an algorithm: lower-case words joined by -, such as my-search")
    if name in known:
        raise UsageError(f"there is an algorithm '{name}' already; choose another name")
    if folder.exists():
        raise UsageError(f"{folder} exists already; choose another folder by --out")
    words = name.split("-")
    names = {"name": name, "module": f"erlbench_{'_'.join(words)}", "cls": "".join(map(str.capitalize, words))}
    written = []
    for template, place in {**FILES, "ask_tell.py.txt" if ask_tell else "algorithm.py.txt": "$module.py"}.items():
        path = folder / Template(place).substitute(names)
        text = files(__name__).joinpath("templates", template).read_text(encoding="utf-8")
        with writable(folder, "; choose another folder by --out"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(Template(text).substitute(names), encoding="utf-8")
        written.append(path)
    return written
