"""Numbers with their nouns."""

from __future__ import annotations

import pytest

from erlbench.words import counted


@pytest.mark.parametrize(
    ("number", "nouns", "text"),
    [
        (0, ("step",), "0 steps"),
        (1, ("step",), "1 step"),
        (2000, ("step",), "2,000 steps"),
        (1, ("process", "processes"), "1 process"),
        (2, ("process", "processes"), "2 processes"),
    ],
)
def test_one_is_singular(number, nouns, text):
    assert counted(number, *nouns) == text
