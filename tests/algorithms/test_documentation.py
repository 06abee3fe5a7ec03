"""Pages of algorithms have their settings and presets, and equations are where the architecture says."""

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
