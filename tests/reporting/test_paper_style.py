"""The file of order, labels, colours and sizes: what it may say, and what is refused."""

from __future__ import annotations

import pytest

from erlbench.errors import UsageError
from erlbench.reporting.options import PaperStyle, chosen, read_style


@pytest.fixture
def file(tmp_path):
    return tmp_path / "paper.toml"


def test_a_style_is_read_from_a_small_file(file):
    file.write_text('algorithms = ["td3", "cem"]\nsmooth = 3\n[labels]\ntd3 = "TD3"\n[colours]\ncem = "#112233"\n')
    style = read_style(file)
    assert (style.algorithms, style.smooth) == (("td3", "cem"), 3)
    assert (style.label("td3"), style.label("cem"), style.colours["cem"]) == ("TD3", "cem", "#112233")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("colour = 3", "unknown key 'colour'"),
        ("smooth = 1000000", "at most 10,?000"),
        ("smooth = 0", "at least 1"),
        ('band = "wide"', "one of auto, range"),
        ('[colours]\ntd3 = "url(http://x)"', "give one such as"),
        ('[labels]\ntd3 = "a\\nb"', "one line"),
        ("[labels]\ntd3 = 3", "must be a table"),
        ("smooth = ", "cannot be read"),
    ],
)
def test_what_a_style_cannot_say_is_refused(file, text, said):
    file.write_text(text)
    with pytest.raises(UsageError, match=said):
        read_style(file)


def test_names_that_no_run_has_are_refused_and_others_choose_the_order():
    with pytest.raises(UsageError, match="did you mean 'td3'"):
        PaperStyle(algorithms=("td33",)).check(["td3", "cem"], ["Foo-v5"])
    with pytest.raises(UsageError, match="no run has the environment 'cem'"):
        PaperStyle(environments=("cem",)).check(["cem"], ["Foo-v5"])
    assert [chosen("abc", order, str) for order in ((), ("c", "a"))] == [["a", "b", "c"], ["c", "a"]]
