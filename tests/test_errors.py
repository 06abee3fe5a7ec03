"""Hints at what a user may have meant."""

import pytest

from erlbench.errors import nearest
from tests.calls import call


@pytest.mark.parametrize(
    ("word", "words", "meant"),
    [
        ("tua", ["tau", "hidden"], "tau"),
        ("max_steps", ["frame_skip", "max_episode_steps"], "max_episode_steps"),
        ("CEM", ["cem", "cem-rl"], "cem"),
    ],
)
def test_a_near_word_is_hinted_at_whatever_its_case(word, words, meant):
    assert nearest(word, words) == f"; did you mean '{meant}'?"


@pytest.mark.parametrize(("word", "words"), [("population", ["exploration_noise"]), ("", ["out"]), ("out", [])])
def test_another_word_is_no_hint(word, words):
    assert nearest(word, words) == ""


@pytest.mark.parametrize("command", [["show"], ["verify"], ["report"], ["convert", "--to", "tensorboard"]])
def test_a_name_that_is_too_long_is_a_message(command):
    result = call(*command, "a" * 300)
    assert result.exit_code in (1, 2)
    assert "too long" in result.output
    assert "unexpected" not in result.output
