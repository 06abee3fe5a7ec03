"""The settings' tables in docs/algorithms say what the code says."""

import re
from pathlib import Path

import pytest

from erlbench.algorithms import registry
from erlbench.experiment.settings import setting_rows

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


def test_the_equations_are_where_the_architecture_says():
    """`learners/td3.py:153 `smoothed`` names the line where that function begins."""
    root = PAGES.parents[1]
    page = (root / "docs/architecture.md").read_text()
    places = re.findall(r"\b((?:learners|programs)/\w+\.py):(\d+) `(\w+)`", page)
    assert len(places) > 15
    for path, line, name in places:
        found = (root / "algorithms/gradients" / path).read_text().splitlines()[int(line) - 1]
        assert f"def {name}(" in found, f"docs/architecture.md: {path}:{line} is not {name}"


def test_the_reader_of_td3_opens_as_many_lines_as_the_architecture_says():
    root = PAGES.parents[1]
    page = (root / "docs/architecture.md").read_text()
    found = re.search(r"TD3's update opens two files, (\d+) lines: `(.+)` and `(.+?)`\.", page)
    paths = [root / "algorithms/gradients" / path for path in found.groups()[1:]]
    assert int(found[1]) == sum(len(path.read_text().splitlines()) for path in paths) < 250
