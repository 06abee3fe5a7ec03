"""Pages of algorithms have their settings and presets, and equations are where the architecture says."""

import ast
import re
from pathlib import Path

import pytest

from erlbench.algorithms import registry

PAGES = Path(__file__).parents[2] / "docs" / "algorithms"
SCORES = PAGES.parent / "data" / "scores.csv"


@pytest.mark.parametrize("name", list(registry.ALGORITHMS))
def test_one_page_has_settings_and_scores_and_names_each_preset(name):
    """The site's hook puts tables in place of the comments."""
    [page] = [text for page in PAGES.glob("*.md") if f"<!-- settings: {name} -->" in (text := page.read_text())]
    scored = any(row.startswith((f"{name},", f"{name}@")) for row in SCORES.read_text(encoding="utf-8").splitlines())
    assert (f"<!-- scores: {name} -->" in page) == scored
    assert [preset for preset in registry.presets(name) if f"`{preset}`" not in page] == []


def find_function(path, name, owner):
    """The function of that name in a file, in the class `owner` if there is one."""
    tree = ast.parse(path.read_text())
    scopes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and owner in ("", node.name)]
    for scope in scopes if owner else [tree, *scopes]:
        for node in scope.body:
            if isinstance(node, ast.FunctionDef) and node.name == name:
                return node
    raise AssertionError(f"docs/architecture.md: {path.name} has no {name}")


def test_the_equations_are_where_the_architecture_says():
    """A row names functions, and equations, which the docstring of one of them names, too."""
    root = PAGES.parents[1]
    rows = re.findall(r"^\| (.+?) \| (\S+\.py `.+) \|$", (root / "docs/architecture.md").read_text(), re.MULTILINE)
    assert {"steady_state.py", "td3.py"} <= {name for _, places in rows for name in re.findall(r"(\w+\.py) `", places)}
    for update, places in rows:
        functions = re.findall(r"([\w/]+\.py) `(\w+)`(?: of `(\w+)`)?", places)
        assert len(functions) == places.count(".py ")
        texts = []
        for file, name, owner in functions:
            folder = "algorithms/gradients" if file.startswith(("learners/", "programs/")) else "algorithms"
            texts.append(ast.get_docstring(find_function(root / folder / file, name, owner)) or "")
        named = [set(re.findall(r"\d+", part)) for part in re.findall(r"[Ee]q\. \d+(?: and \d+)*", " ".join(texts))]
        for part in re.findall(r"eq\. \d+(?: and \d+)*", update):
            assert set(re.findall(r"\d+", part)) <= set().union(*named), f"{update}: {places}"
