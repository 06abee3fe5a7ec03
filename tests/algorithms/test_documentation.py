"""The pages of algorithms have their settings and presets, and equations are where the architecture says."""

import ast
import re
from pathlib import Path

import pytest

from erlbench.algorithms import registry

PAGES = Path(__file__).parents[2] / "docs" / "algorithms"


@pytest.mark.parametrize("name", list(registry.ALGORITHMS))
def test_each_page_has_the_settings_and_names_each_preset(name):
    """The site's hook puts the table of settings in place of the comment."""
    page = (PAGES / f"{name}.md").read_text()
    assert f"<!-- settings: {name} -->" in page
    assert [preset for preset in registry.presets(name) if f"`{preset}`" not in page] == []


def function_at(path, line, name, owner):
    """The function that begins at a line of a file; it has that name, in the class `owner` if there is one."""
    tree = ast.parse(path.read_text())
    scopes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and owner in ("", node.name)]
    for scope in scopes if owner else [tree, *scopes]:
        for node in scope.body:
            if isinstance(node, ast.FunctionDef) and (node.name, node.lineno) == (name, line):
                return node
    raise AssertionError(f"docs/architecture.md: {path.name}:{line} is not {name}")


def test_the_equations_are_where_the_architecture_says():
    """A row names the line where a function begins, and equations, which that function's docstring names, too."""
    root = PAGES.parents[1]
    rows = re.findall(r"^\| (.+?) \| (.+\.py:\d+ .+) \|$", (root / "docs/architecture.md").read_text(), re.MULTILINE)
    assert {"aes_rl.py", "td3.py"} <= {name for _, places in rows for name in re.findall(r"(\w+\.py):", places)}
    for update, places in rows:
        found = re.findall(r"([\w/]+\.py):(\d+) `(\w+)`(?: of `(\w+)`)?", places)
        assert len(found) == places.count(".py:")
        texts = []
        for file, line, name, owner in found:
            folder = "algorithms/gradients" if file.startswith(("learners/", "programs/")) else "algorithms"
            texts.append(ast.get_docstring(function_at(root / folder / file, int(line), name, owner)) or "")
        named = [set(re.findall(r"\d+", part)) for part in re.findall(r"[Ee]q\. \d+(?: and \d+)*", " ".join(texts))]
        for part in re.findall(r"eq\. \d+(?: and \d+)*", update):
            assert set(re.findall(r"\d+", part)) <= set().union(*named), f"{update}: {places}"
