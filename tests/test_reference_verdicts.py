"""verdict.json of the reference results, and the pages that quote it, have what the stored runs give."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest

from benchmarks.reference import REFERENCE, read_comparisons, verdicts
from erlbench.reporting.statistics.significance import Case
from erlbench.reporting.verdict.words import pair_values, sentence

pytestmark = pytest.mark.data

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
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


def test_nothing_is_decided_by_fewer_than_six_seeds(found):
    for ones in found.values():
        for one in ones:
            if min(len(one.first.scores), len(one.second.scores)) < 6:
                assert one.case is Case.TOO_FEW
                assert math.isnan(one.p_holm)
                assert math.isnan(one.difference_low)


def test_all_runs_of_a_seed_count_whatever_folder_they_lie_in(found):
    """CEM-RL ran each seed on two kernels: six runs beside AES-RL and beside TD3."""
    for one in found["halfcheetah-300k"]:
        for side in (one.first, one.second):
            if side.name == "cem-rl":
                assert (len(side.runs), len(side.scores)) == (6, 3)
