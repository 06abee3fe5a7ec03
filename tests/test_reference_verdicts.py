"""verdict.json of the reference results, and the pages that quote it, have what the stored runs give."""

import json
import math
import re
from pathlib import Path

import pytest

from benchmarks.reference import REFERENCE, read_comparisons, verdicts
from benchmarks.results_matrix import MATRIX, SCORES, make_matrix, make_scores
from erlbench.reporting.words import pair_values, sentence

pytestmark = pytest.mark.data

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *REFERENCE.glob("*.md")]
QUOTED = re.compile(r"<!-- verdict: (.*?) -->\n(.*?)<!-- end -->", re.DOTALL)
STORED = json.loads((REFERENCE / "verdict.json").read_text(encoding="utf-8"))["verdicts"]


@pytest.fixture(scope="module")
def found():
    return {name: verdicts(table) for name, table in read_comparisons().items()}


def near(stored, computed):
    """Equal but for the last digits of numbers."""
    if isinstance(stored, dict):
        return stored.keys() == computed.keys() and all(near(stored[name], computed[name]) for name in stored)
    if isinstance(stored, list):
        return len(stored) == len(computed) and all(map(near, stored, computed))
    if isinstance(stored, float) and isinstance(computed, float):
        return math.isclose(stored, computed, rel_tol=1e-6, abs_tol=1e-9)
    return stored == computed


def test_the_file_is_computed_from_the_stored_runs(found):
    assert STORED.keys() == found.keys()
    for name, table in read_comparisons().items():
        assert near(STORED[name], [pair_values(verdict) for verdict in found[name]]), name
        assert len(found[name]) == len(table["pairs"]) * len(table.get("envs", [None]))


def test_each_page_quotes_the_verdicts_as_they_are(found):
    """`<!-- verdict: COMPARISON | FIRST | SECOND [| ENVIRONMENT] -->`: the verdict's sentence."""
    quotes = [quote for page in PAGES for quote in QUOTED.findall(page.read_text(encoding="utf-8"))]
    assert quotes
    for key, text in quotes:
        name, first, second, *env = (word.strip() for word in key.split("|"))
        (verdict,) = (
            one for one in found[name]
            if (one.first.name, one.second.name) == (first, second) and env in ([], [one.env])
        )  # fmt: skip
        assert " ".join(text.split()) == " ".join(sentence(verdict).split()), key


def test_the_matrix_has_the_scores_of_stored_runs():
    """docs/data/{matrix,scores}.csv are what their program writes; one cell once more from status.json alone."""
    assert MATRIX.read_text(encoding="utf-8") == make_matrix().to_csv(index=False)
    assert SCORES.read_text(encoding="utf-8") == make_scores().to_csv(index=False)
