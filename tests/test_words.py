"""Numbers with their nouns."""

from __future__ import annotations

import pytest

from erlbench.words import counted, say_range


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


@pytest.mark.parametrize(("numbers", "text"), [([], ""), ([1000, 1000], "1,000"), ([3, 2500, 7], "3 to 2,500")])
def test_a_range_says_equal_ends_once(numbers, text):
    assert say_range(numbers) == text
