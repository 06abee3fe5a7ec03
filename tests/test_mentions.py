"""Imports in texts (scripts of tests, documentation, templates, notebooks), and lists of files, name what there is."""

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
IMPORT = re.compile(r"from (erlbench[\w.]*) import \(?([\w, \t]+)")
TEXTS = ("README.md", "CONTRIBUTING.md", "docs/**/*.md", "docs/*.ipynb", "tests/**/*.py", "benchmarks/**/*.py",
         "erlbench/cli/templates/*.txt", "examples/**/*.py")  # fmt: skip


@cache
def names(module):
    """What a module of erlbench defines or imports at its top level, and its submodules; None if there is none."""
    path = ROOT.joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if not file.is_file():
        return None
    found = {below.stem for below in path.glob("*") if below.suffix in ("", ".py")} if path.is_dir() else set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.ImportFrom | ast.Import):
            found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)  # names that `__getattr__` knows
    return found


def test_imports_in_texts_name_what_there_is():
    seen, missing = set(), []
    for pattern in TEXTS:
        for path in ROOT.glob(pattern):
            for module, imported in IMPORT.findall(path.read_text()):
                for name in re.split(r",\s*", imported.strip().strip(",")):
                    name = name.split(" as ")[0].strip()
                    seen.add((path.relative_to(ROOT).parts[0], name))
                    if name and (names(module) is None or name not in names(module)):
                        missing.append(f"{path.relative_to(ROOT)}: from {module} import {name}")
    assert {("docs", "Context"), ("erlbench", "check_algorithm"), ("tests", "Store")} <= seen
    assert missing == []


def test_the_slowest_files_are_there():
    names = tomllib.loads((ROOT / "tests" / "durations.toml").read_text())
    assert [name for name in names if not (ROOT / name).is_file()] == []
