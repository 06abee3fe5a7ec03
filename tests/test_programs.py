"""Which tests are left out where a program is missing."""

from __future__ import annotations

from collections import Counter

import pytest

from tests import programs


def test_a_missing_program_is_named_with_its_package(monkeypatch):
    monkeypatch.delenv(programs.TEST_ALL, raising=False)
    absent = programs.missing(["chromium", "chromedriver"], which=lambda name: None)
    assert absent == ("chromedriver", "chromium")
    assert programs.missing(["chromium"], which=lambda name: "/usr/bin/" + name) == ()
    assert programs.left_out(Counter({absent: 2, ("pdflatex",): 1})) == (
        "left out: 3 tests need chromedriver, chromium, pdflatex; on Debian: apt-get install chromium-driver chromium "
        "texlive-latex-recommended"
    )


def test_nothing_is_left_out_where_all_must_run(monkeypatch):
    monkeypatch.setenv(programs.TEST_ALL, "1")
    assert programs.missing(["chromium"], which=lambda name: None) == ()


def test_an_unknown_program_is_a_mistake_of_the_test():
    with pytest.raises(KeyError):
        programs.missing(["word"])
