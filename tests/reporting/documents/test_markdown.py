"""Texts of the suite as Markdown."""

import pytest

from erlbench.reporting.documents import markdown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("says `a_b | c` how *often*", r"says `a_b | c` how \*often\*"),
        ("an unpaired ` and <b>", r"an unpaired \` and \<b\>"),
        ("empty `` code", r"empty \`\` code"),
    ],
)
def test_only_paired_backticks_are_markup_in_prose(text, expected):
    assert markdown.prose(text) == expected
