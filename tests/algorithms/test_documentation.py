"""The settings' tables in docs/algorithms say what the code says."""

import ast
import re
from pathlib import Path

import pytest

from erlbench.algorithms import registry
from erlbench.settings import setting_rows

PAGES = Path(__file__).parents[2] / "docs" / "algorithms"


def table(settings_type):
    """One line of Markdown per setting."""
    for row in setting_rows(settings_type):
        default = row.default + (f" ({row.by_env})" if row.by_env else "")
        yield f"| `{row.name}` | {default} | {row.help} | {row.source} |"


@pytest.mark.parametrize("name", list(registry.ALGORITHMS))
def test_page_lists_every_setting_and_preset(name):
    lines = (PAGES / f"{name}.md").read_text().splitlines()
    assert [line for line in table(registry.find(name).settings_type) if line not in lines] == []
    for preset in registry.presets(name):
        assert any(f"`{preset}`" in line for line in lines), preset


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
