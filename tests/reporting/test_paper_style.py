"""The file of order, labels, colours and sizes: what it may say, and what is refused."""

from __future__ import annotations

import pytest

from erlbench.errors import UsageError
from erlbench.reporting.options import PaperStyle, chosen, read_style


def test_a_style_is_read_from_a_small_file(tmp_path):
    file = tmp_path / "paper.toml"
    file.write_text('algorithms = ["td3", "cem"]\nsmooth = 3\n[labels]\ntd3 = "TD3"\n'
                    '[colours]\ncem = "#112233"\n')  # fmt: skip
    style = read_style(file)
    assert (style.algorithms, style.smooth) == (("td3", "cem"), 3)
    assert (style.label("td3"), style.label("cem"), style.colours["cem"]) == ("TD3", "cem", "#112233")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("colour = 3", "unknown key 'colour'"),
        ("width = 3.3", "unknown key 'width'"),  # of matplotlibrc
        ("smooth = 1000000", "at most 10,?000"),
        ("smooth = 0", "at least 1"),
        ('band = "wide"', "one of auto, range"),
        ('[colours]\ntd3 = "url(http://x)"', "give one such as"),
        ('[labels]\ntd3 = "a\\nb"', "one line"),
        ("[labels]\ntd3 = 3", "must be a table"),
        ("smooth = ", "cannot be read"),
        ("x = " + "[" * 4000 + "]" * 4000, "cannot be read"),
    ],
)
def test_what_a_style_cannot_say_is_refused(tmp_path, text, said):
    file = tmp_path / "paper.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=said):
        read_style(file)


def test_a_name_that_no_run_has_is_refused_with_a_hint():
    style = PaperStyle(algorithms=("td33",))
    with pytest.raises(UsageError, match="did you mean 'td3'"):
        style.check(["td3", "cem"], ["Foo-v5"])
    with pytest.raises(UsageError, match="no run has the environment 'cem'"):
        PaperStyle(environments=("cem",)).check(["cem"], ["Foo-v5"])


def test_order_and_selection():
    assert chosen("abc", (), str) == ["a", "b", "c"]
    assert chosen("abc", ("c", "a"), str) == ["c", "a"]
