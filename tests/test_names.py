"""Classes, functions and tests have names of their own, and no class is deeper than three below the first of ours."""

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
LINKS = ROOT / "erlbench/algorithms", ROOT / "erlbench/envs"  # the same files once more
# What means the same wherever it is defined, and what tells one from the other.
SAME = {
    "Adam": "the same method, for numpy's arrays and for PyTorch's",
    "initial_learner": "of each gradient algorithm; another algorithm imports that of its learner",
    "run": "the function erlbench.run, and the command of that name",
    "main": "of each program",
    "Pair": "of entries that a study compares, and of directions in which OpenAI-ES steps",
}


def sources():
    for package in ("erlbench", "algorithms", "envs"):
        for path in (ROOT / package).rglob("*.py"):
            if not any(path.is_relative_to(link) for link in LINKS):
                yield str(path.relative_to(ROOT)), ast.parse(path.read_text())


def test_a_public_name_says_which_one_is_meant():
    classes, functions, imports = defaultdict(list), defaultdict(list), defaultdict(list)
    for path, module in sources():
        for node in module.body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
                (classes if isinstance(node, ast.ClassDef) else functions)[node.name].append(path)
        for node in ast.walk(module):
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    imports[alias.name].append(f"{path}:{node.lineno}")
    assert {"Cell", "AESRL", "Problem"} <= {*classes}  # of each of the packages
    assert {"load_results", "polyak_update", "problem"} <= {*functions}
    assert [name for name in SAME if len(classes[name]) < 2 and len(functions[name]) < 2] == []
    several = {name: places for name, places in classes.items() if len(places) > 1 and name not in SAME}
    assert several == {}, "give each class a name of its own"
    bare = {name for name, places in functions.items() if len(places) > 1 and name in imports} - set(SAME)
    assert {name: imports[name] for name in bare} == {}, "import the module, or give each function a name of its own"


def test_no_inheritance_is_deeper_than_three():
    """Three are Algorithm, Hybrid, SearchAlone, CEM: a search alone is a hybrid that trains nobody."""
    bases = {}
    for path, module in sources():
        for node in ast.walk(module):
            if isinstance(node, ast.ClassDef):
                key = (path, node.name) if node.name.startswith("_") else node.name
                bases[key] = path, [ast.unparse(base).split("[")[0].split(".")[-1] for base in node.bases]

    def depth(key):
        path, names = bases[key]
        ours = [found for name in names for found in ((path, name), name) if found in bases]
        return 1 + max(map(depth, ours)) if ours else 0

    assert depth("CEM") == 3
    assert {key: depth(key) for key in bases if depth(key) > 3} == {}


def test_a_test_has_a_name_of_its_own():
    """So that it can be run by `-k` alone, and a line of a log says which one it was."""
    places = defaultdict(list)
    for path in (ROOT / "tests").rglob("test_*.py"):
        for name in re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE):
            places[name].append(str(path.relative_to(ROOT)))
    assert places["test_a_test_has_a_name_of_its_own"] == ["tests/test_names.py"]
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
