"""Hints at what a user may have meant."""

import pytest
from click.testing import CliRunner

from erlbench.cli import cli
from erlbench.errors import nearest


@pytest.mark.parametrize(
    ("word", "words", "meant"),
    [
        ("tua", ["tau", "hidden"], "tau"),
        ("td4", ["cem", "td3"], "td3"),
        ("max_steps", ["frame_skip", "max_episode_steps"], "max_episode_steps"),
        ("CEM", ["cem", "cem-rl"], "cem"),
        ("hopper-V5", ["Hopper-v4", "Hopper-v5"], "Hopper-v5"),
        ("diagonalcma", ["CMA", "DiagonalCMA"], "DiagonalCMA"),
    ],
)
def test_a_near_word_is_hinted_at_whatever_its_case(word, words, meant):
    assert nearest(word, words) == f"; did you mean '{meant}'?"


@pytest.mark.parametrize(
    ("word", "words"),
    [
        ("ALE/Pong-v5", ["Ant-v5"]),
        ("population", ["exploration_noise"]),
        ("elites", ["episodes"]),
        ("totl", ["out"]),
        ("", ["out"]),
        ("out", []),
    ],
)
def test_another_word_is_no_hint(word, words):
    assert nearest(word, words) == ""


@pytest.mark.parametrize("command", [["show"], ["verify"], ["report"], ["convert", "--to", "csv"]])
def test_a_name_that_is_too_long_is_a_message(command):
    result = CliRunner().invoke(cli, [*command, "a" * 300])
    assert result.exit_code in (1, 2)
    assert "too long" in result.output
    assert "unexpected" not in result.output
