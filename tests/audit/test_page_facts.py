"""Each number in the sentences of the results pages is computed, or is known to be no result of ours."""

from __future__ import annotations

import re

import pytest

from tests.audit.page_facts import PAGES, rows_of_tables
from tests.audit.page_numbers import MEASUREMENTS

pytestmark = pytest.mark.data

QUOTED = re.compile(r"<!-- verdict:.*?<!-- end -->", re.DOTALL)
NUMBERS = re.compile(r"(?:^\|.*\n)\|[-:|]*---:[-:|]*\n(?:^\|.*\n)*", re.MULTILINE)  # a table with right-aligned columns
NO_PROSE = re.compile(r"`[^`]*`|\]\([^)]*\)|!\[[^\]]*\]")  # code, the targets of links, what is below a figure
NUMBER = re.compile(r"(?<![\w.,])[−-]?\d(?:[\d,.]*\d)?(?:e-?\d+)?(?!\w)")


KNOWN = {
    "dates, versions, seeds and tables": "0 1 2 3 4 5 9 22 26 2020 2026 0.1.0 1.50",
    "settings": "10 15 20 24 30 40 50 60 90 100 200 256 280 299 300 400 0.01 0.02 0.05 0.1",
    "budgets, and where a curve is read": "8,000 10,000 20,000 40,000 100,000 120,000 2,048",
    "the same, in hundreds of thousands": "200,000 230,000 290,000 300,000 460,000 800,000",
    "the tasks' own": "0.5 1,000 2,000 2000 -1",
    "of papers, documents and their programs": "33 202 361 397 410 487 600 755 1,095 9,630 10,725 −1.35",
    "of levels, margins and shares": "10 75 95 100",
    "of the command below them": "89 222 294",
}


def text_of(page: str) -> str:
    """Its prose: neither quoted verdicts, nor tables of numbers and commands."""
    lines = NUMBERS.sub("", QUOTED.sub("", (MEASUREMENTS / f"{page}.md").read_text())).splitlines()
    return " ".join(" ".join(line for line in lines if not line.startswith("    ")).split())


@pytest.mark.parametrize(("page", "section"), [(page, one) for page, ones in PAGES.items() for one in ones])
def test_the_sentences_of_the_results_pages_hold_what_the_runs_give(page, section):
    phrases = list(section())
    assert phrases
    text = text_of(page)
    assert [phrase for phrase in phrases if phrase not in text] == []


def test_the_tables_have_the_runs():
    page = (MEASUREMENTS / "reference-results.md").read_text()
    assert [row for row in rows_of_tables() if row not in page] == []


@pytest.mark.parametrize("page", PAGES)
def test_a_number_that_no_run_gives_is_a_setting_or_somebody_elses(page):
    text = text_of(page)
    for phrase in sorted((one for section in PAGES[page] for one in section()), key=len, reverse=True):
        text = text.replace(phrase, "")
    left = set(NUMBER.findall(NO_PROSE.sub("", text)))
    assert left - set(" ".join(KNOWN.values()).split()) == set()
