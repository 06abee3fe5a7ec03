"""The documentation site: it builds, and its links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import erlbench
from erlbench.reporting.cells import LEFT_OUT, REPEATED
from erlbench.reporting.runs import find_runs
from tests.campaign.parts import PARTS

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)\s]+)\)")
REFERENCE = ROOT / "results" / "reference"
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "results").glob("*.md"), *REFERENCE.glob("*.md")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_the_repository_lead_somewhere(page):
    """As one reads the Markdown on a forge; the site checks anchors, too."""
    text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(), flags=re.DOTALL)
    targets = [target for target in LINK.findall(text) if not re.match(r"[a-z]+:|#", target)]
    missing = [target for target in targets if not (page.parent / target.partition("#")[0]).exists()]
    assert missing == []


@pytest.mark.data
def test_each_folder_of_reference_results_is_explained_and_each_heading_exists():
    """The page says what its runs are; its links name sections of the documentation."""
    text = (REFERENCE / "README.md").read_text()
    rows = [row.split("|")[1] for row in text.splitlines() if row.startswith("| `")]
    named = {name for row in rows for name in re.findall("`([^`]+)`", row)}
    assert named == {folder.name for folder in REFERENCE.iterdir() if folder.is_dir()}
    for target in LINK.findall(text):
        page, _, anchor = target.partition("#")
        heads = re.findall(r"^#+ (.*)$", (REFERENCE / page).read_text(), flags=re.MULTILINE)
        slugs = ["", *(re.sub(r"[^\w -]", "", head).lower().replace(" ", "-") for head in heads)]
        assert anchor in slugs, target


@pytest.mark.data
def test_each_reference_run_is_shown():
    """Two runs with one environment, name, seed and budget would hide one another in the report of all of them."""
    warnings = []
    runs = find_runs([REFERENCE], warnings.append)
    assert not [text for text in warnings if LEFT_OUT in text or REPEATED in text]
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


def test_version_changelog_and_citation_agree():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    headings = re.findall(r"^## \[(.+?)\](?: - (\S+))?$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    released = erlbench.__version__, str(citation["date-released"])
    assert headings[:2] == [("Unreleased", ""), released]
    assert citation["version"] == erlbench.__version__


def build(folder: Path, config: Path) -> subprocess.CompletedProcess[str]:
    words = ["mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder), "-f", str(config)]
    return subprocess.run([sys.executable, "-m", *words], cwd=ROOT, capture_output=True, text=True, timeout=300)


@pytest.mark.slow
def test_the_site_builds_and_loads_nothing_from_elsewhere(tmp_path):
    done = build(tmp_path / "site", ROOT / "mkdocs.yml")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "site" / "python.html").read_text()
    assert 'id="erlbench.api.run"' in page
    index = (tmp_path / "site" / "index.html").read_text()
    assert 'src="js/iframe-worker.js"' in index  # so that search works from disk
    links = set(re.findall(r'href="([\w./-]+)"', index))
    assert {"contributing.html", "changelog.html", "algorithms/index.html"} <= links
    assert "halfcheetah-300k.png" in index
    assert "Raises" in page
    generated = {
        "algorithms/evolution": "extra_ke_division", "algorithms/index": "multi-actor-td3", "claims": "aes-wall-clock",
        "environments": "function:sphere", "measurements/reference-results": "halfcheetah-1m",
        "report": "--checklist", "results": "fitness_timesteps",
    }  # fmt: skip
    for name, word in generated.items():
        assert re.search(rf"<code>{word}\b", (tmp_path / "site" / f"{name}.html").read_text()), name
    assert re.search(r'href="report/index\.html"[^>]*>\s*(?:<span[^>]*>\s*)?Report of the reference results', page)
    for html in (tmp_path / "site").rglob("*.html"):
        assert re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="https?://(?!erlbench)[^"]*"', html.read_text()) == []
