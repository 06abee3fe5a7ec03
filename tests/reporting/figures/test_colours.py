"""The colour of an algorithm."""

from __future__ import annotations

from erlbench.reporting.figures.colours import LISTED, colour_numbers
from erlbench.reporting.figures.model import PALETTE


def test_a_listed_algorithm_keeps_its_colour_among_others():
    alone = colour_numbers(["td3", "cem-rl", "mine"])
    with_more = colour_numbers(["zoo", "sac", "mine", "td3", "aes-rl", "cem-rl"])
    assert {name: with_more[name] for name in ("td3", "cem-rl")} == {name: alone[name] for name in ("td3", "cem-rl")}


def test_no_two_of_as_many_as_there_are_colours_share_one_and_no_two_of_more_look_alike():
    names = ["mine", "cem@a", "cem@b", *LISTED]
    few = colour_numbers(names[: len(PALETTE)])
    assert sorted(few.values()) == [*range(len(PALETTE))]
    assert len(set(colour_numbers(names).values())) == len(names)
