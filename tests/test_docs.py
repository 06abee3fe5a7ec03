"""The documentation site builds; pages have what the repository has."""

import re
from pathlib import Path

import pytest
import yaml

import erlbench
from erlbench.algorithms import registry
from erlbench.reporting.cells import LEFT_OUT
from erlbench.reporting.runs import find_runs
from tests.calls import python
from tests.campaign.parts import PARTS

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "results" / "reference"


@pytest.mark.data
def test_each_reference_run_is_shown():
    """Two runs with one environment, name, seed and budget would hide one another in the report of all of them."""
    warnings = []
    runs = find_runs([REFERENCE], warnings.append)
    assert not [text for text in warnings if LEFT_OUT in text or ": repeats seed " in text]
    assert len(runs) == len({path.parent for path in REFERENCE.rglob("eval.csv")}) > 0


def test_each_promise_of_the_suite_names_tests_that_are_there():
    section = (ROOT / "docs" / "reproducibility.md").read_text().split("\n## Promises\n")[1].split("\n## ")[0]
    _, _, *rows = (line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|"))
    assert any("tests/test_recovery.py" in how for _, how in rows)
    for promise, how in rows:
        named = re.findall("`([^`]+)`", how)
        assert named, promise
        wrong = [name for name in named if not ((ROOT / name).exists() if "/" in name else name in PARTS)]
        assert wrong == [], promise


def test_pages_name_code_that_is_there():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    named = [
        (page.name, path)
        for page in pages
        for path in re.findall(r"`((?:tests|benchmarks)/[\w./]+)`", page.read_text())
    ]
    assert len(named) > 10
    assert not [(page, path) for page, path in named if page != "CHANGELOG.md" and not (ROOT / path).exists()]


def test_the_table_of_extensions_has_each_algorithm():
    section = (ROOT / "docs" / "results.md").read_text().split("\n## Extending a finished run\n")[1]
    named = {(name, row.split("|")[2].split()[0].strip(",:")) for row in section.splitlines() if row.startswith("| `")
             for name in re.findall("`([a-z0-9-]+)`", row.split("|")[1])}  # fmt: skip
    for name in registry.CLASSES:
        algorithm = registry.find(name)
        settings = algorithm.settings_type()
        fixed = not algorithm.is_synchronous(settings) or algorithm.depends_on_budget(settings)
        assert (name, "no" if fixed else "if" if algorithm.critic_updates else "yes") in named


def test_version_changelog_and_citation_agree():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    headings = re.findall(r"^## \[(.+?)\](?: - (\S+))?$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    released = erlbench.__version__, str(citation["date-released"])
    assert headings[:2] == [("Unreleased", ""), released]
    assert citation["version"] == erlbench.__version__


@pytest.mark.slow
def test_the_site_builds_and_loads_nothing_from_elsewhere(tmp_path):
    done = python("-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", tmp_path / "site", cwd=ROOT)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "site" / "python.html").read_text()
    assert 'id="erlbench.api.run"' in page
    index = (tmp_path / "site" / "index.html").read_text()
    links = set(re.findall(r'href="([\w./-]+)"', index))
    assert {"contributing.html", "changelog.html", "algorithms/index.html"} <= links
    for html in (tmp_path / "site").rglob("*.html"):
        assert re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="https?://(?!erlbench)[^"]*"', html.read_text()) == []
