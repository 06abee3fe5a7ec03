"""Settings of environments by the annotations of their signatures."""

import pytest

from erlbench.envs.options import checked_settings
from erlbench.errors import UsageError
from erlbench.files import plain_values
from tests.tables import cells

TYPED = "tests.faults:Typed-v0"


TAKEN = """
body    | torso           | 'torso'
body    | 2               | 2
body    | 2020-01-01      | '2020-01-01'
body    | 07:30:00        | '07:30:00'
weights | [0.1, 0.2, 0.3] | [0.1, 0.2, 0.3]
pair    | [1, 2]          | [1, 2]
camera  | none            | None
count   | 2.0             | 2.0
"""


@pytest.mark.parametrize(("name", "text", "value"), cells(TAKEN))
def test_a_value_of_an_annotated_kind_is_taken(name, text, value):
    chosen = checked_settings(TYPED, plain_values({name: text}))
    assert repr(chosen.kwargs) == f"{{'{name}': {value}}}"
    assert chosen.remarks == ()


REFUSED = """
body    | 1.5 | an integer or a text
weights | 0.1 | a list
pair    | [1] | 2 items
camera  | 3   | a text or none
count   | 2.5 | an integer
"""


@pytest.mark.parametrize(("name", "text", "words"), cells(REFUSED))
def test_another_kind_is_refused_in_words(name, text, words):
    with pytest.raises(UsageError, match=words):
        checked_settings(TYPED, plain_values({name: text}))


def test_the_kind_of_a_default_is_only_a_remark():
    chosen = checked_settings(TYPED, {"plain": 3})
    assert chosen.kwargs == {"plain": 3}
    assert "true" in chosen.remarks[0]
    assert checked_settings(TYPED, {"plain": False}).remarks == ()
