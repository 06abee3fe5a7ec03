"""verdict.json of the reference results, and the pages that quote it, say what the stored runs say."""

from __future__ import annotations

import json
import math

import pytest

from benchmarks.headline import NAMES
from benchmarks.reference_comparisons import REFERENCE, ROOT, asked
from benchmarks.reference_verdicts import BLOCK, COMPUTED, PAGES, QUOTED, computed, filled, verdicts
from erlbench.reporting.verdict.rule import Case
from erlbench.reporting.verdict.stored import as_values

pytestmark = pytest.mark.data

STORED = json.loads((REFERENCE / "verdict.json").read_text(encoding="utf-8"))["verdicts"]


@pytest.fixture(scope="module")
def found():
    return {name: verdicts(wanted) for name, wanted in asked().items()}


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
    for name, ones in found.items():
        assert near(STORED[name], [as_values(one) for one in ones]), name
        wanted = asked()[name]
        assert len(ones) == len(wanted["pairs"]) * len(wanted.get("envs", [None]))


def test_each_page_quotes_the_verdicts_as_they_are(found):
    quoted = {page.name: len(QUOTED.findall(page.read_text())) for page in PAGES}
    assert quoted["README.md"]
    assert quoted["results-so-far.md"]
    for page in PAGES:
        assert filled(page.read_text(), found) == page.read_text(), page.name


@pytest.mark.parametrize("page", [page for page in PAGES if BLOCK.search(page.read_text())], ids=lambda page: page.stem)
def test_each_page_has_the_tables_that_the_runs_give_and_what_its_commands_print(page):
    assert computed(page.read_text()) == page.read_text()


def test_the_pages_that_compare_have_their_tables_computed():
    assert set(COMPUTED) == {what for page in PAGES for what in BLOCK.findall(page.read_text())}


def test_readmes_first_results_name_the_steps_that_were_used(found):
    """AES-RL's ratio stands in them, and the figure beside them counts these steps."""
    measured = (ROOT / "README.md").read_text().split("## Measured\n")[1]
    first = measured.split("<!-- verdict: headline -->")[1].split("<!-- end -->")[0]
    (pair,) = (one for one in found["halfcheetah-300k"] if one.first.name == "aes-rl")
    assert f"{pair.ratio:.1f} times the simulator steps" in " ".join(first.split())
    assert all(name in first for name in NAMES.values())
    assert "--x simulator-steps" in measured


def test_nothing_is_decided_by_fewer_than_six_seeds(found):
    for ones in found.values():
        for one in ones:
            if min(len(one.first.scores), len(one.second.scores)) < 6:
                assert one.case is Case.TOO_FEW
                assert math.isnan(one.outcome.p)
                assert math.isnan(one.outcome.difference.interval[0])


def test_all_runs_of_a_seed_count_whatever_folder_they_lie_in(found):
    """CEM-RL ran each seed on two kernels: six runs beside AES-RL and beside TD3."""
    for one in found["halfcheetah-300k"]:
        for side in (one.first, one.second):
            if side.name == "cem-rl":
                assert (len(side.runs), len(side.scores)) == (6, 3)
