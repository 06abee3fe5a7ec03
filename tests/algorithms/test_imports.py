"""No hidden circles: what a task names as text does not import the module that names it."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from erlbench.algorithms import registry

ROOT = Path(__file__).parents[2] / "erlbench"
TASK_FUNCTION = re.compile(r"(erlbench(?:\.\w+)+):[a-z{]")  # of a function; `registry.py` names classes
TASK_MODULE = re.compile(r'^MODULE = "(erlbench[\w.]+)"', re.MULTILINE)  # of functions that are named below
NAMING = sorted(path for room in ("", "parts/", "training/") for path in ROOT.glob(f"algorithms/{room}[a-z]*.py"))


def module_of(path):
    return ".".join(("erlbench", *path.relative_to(ROOT).with_suffix("").parts))


@cache
def imports(module):
    """The modules of erlbench that `module` imports, at its top or within a function."""
    path = ROOT.parent / Path(*module.split("."))
    file = path.with_suffix(".py") if path.with_suffix(".py").exists() else path / "__init__.py"
    if not file.exists():  # a name within a module
        return frozenset()
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("erlbench"):
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(found)


def closure(module):
    seen, todo = set(), [module]
    while todo:
        for name in imports(todo.pop()) - seen:
            seen.add(name)
            todo.append(name)
    return seen


def named_in(path):
    """The modules of task functions that a file names."""
    return {name for pattern in (TASK_FUNCTION, TASK_MODULE) for name in pattern.findall(path.read_text())}


@pytest.mark.parametrize("path", NAMING, ids=lambda path: path.stem)
def test_no_task_function_imports_the_module_that_names_it(path):
    for named in named_in(path) - {module_of(path)}:
        assert module_of(path) not in closure(named), f"{path.name} names {named}, which imports it"


def test_no_algorithm_imports_torch_on_the_drivers_side():
    code = (
        "import sys; from erlbench.algorithms import registry; found = [*map(registry.find, registry.ALGORITHMS)]; "
        "print(len(found), 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(len(registry.ALGORITHMS)), "False"]


def test_the_task_functions_are_found():
    named = set().union(*map(named_in, NAMING))
    gradients = "erlbench.algorithms.gradients"
    assert {f"{gradients}.updates", f"{gradients}.episodes", f"{gradients}.ppo_iteration"} <= named
    assert "erlbench.algorithms.training.update_settings" in closure(f"{gradients}.episodes")
