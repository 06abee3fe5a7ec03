"""verdict.json of the reference results, and the pages that quote it, have what the stored runs give."""

from __future__ import annotations

import csv
import json
import math
import re
import statistics
from pathlib import Path

import pytest

from benchmarks.reference import REFERENCE, read_comparisons, verdicts
from benchmarks.results_matrix import MATRIX, SCORES, make_matrix, make_scores
from erlbench.reporting.significance import Case
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


def test_nothing_is_decided_by_fewer_than_six_seeds(found):
    for ones in found.values():
        for one in ones:
            if min(len(one.first.scores), len(one.second.scores)) < 6:
                assert one.case == Case.TOO_FEW
                assert math.isnan(one.p_holm)
                assert math.isnan(one.difference_low)


def test_all_runs_of_a_seed_count_whatever_folder_they_lie_in(found):
    """CEM-RL ran each seed on two kernels: six runs beside AES-RL and beside TD3."""
    for one in found["halfcheetah-300k"]:
        for side in (one.first, one.second):
            if side.name == "cem-rl":
                assert (len(side.runs), len(side.scores)) == (6, 3)


def test_the_matrix_has_the_scores_of_stored_runs():
    """docs/data/{matrix,scores}.csv are what their program writes; one cell once more from status.json alone."""
    assert MATRIX.read_text(encoding="utf-8") == make_matrix().to_csv(index=False)
    assert SCORES.read_text(encoding="utf-8") == make_scores().to_csv(index=False)
    rows = [*csv.reader(MATRIX.read_text(encoding="utf-8").splitlines())]
    cells = {(row[0], row[1]): dict(zip(rows[0], row)) for row in rows[1:]}
    folders = [REFERENCE / "halfcheetah" / "HalfCheetah-v5" / "cem-rl" / f"seed-00{seed}" for seed in range(3)]
    scores = [json.loads((folder / "status.json").read_text())["return_mean"] for folder in folders]
    expected = f"{statistics.fmean(scores):,.0f} ± {statistics.stdev(scores):,.0f} (3)"
    assert cells["HalfCheetah-v5", "1,000,000"]["cem-rl"] == expected
    assert cells["Walker2d-v5@paper", "1,000,000"]["cem"].startswith("**")  # the one verdict of its row is decided
    assert not cells["Swimmer-v5", "1,000,000"]["cem"].startswith("**")
    assert cells["Walker2d-v5@paper", "1,000,000"]["td3"] == ""
