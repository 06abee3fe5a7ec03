"""The rules for the length of episodes, by hand."""

import pytest

from erlbench.algorithms.search.time_limit import TimeLimit


def test_the_environments_limit_stays():
    rule = TimeLimit.parse("environment", 1000)
    assert (rule.first, rule.next(1000, [1000, 1000])) == (1000, 1000)


@pytest.mark.parametrize(("lengths", "limit"), [([30, 30, 5, 5], 45), ([30, 5, 5, 5], 30), ([], 30)])
def test_adaptive_grows_when_enough_episodes_reach_it(lengths, limit):
    rule = TimeLimit.parse("adaptive:30,0.5,1.5", 1000)
    assert rule.first == 30
    assert rule.next(30, lengths) == limit


def test_adaptive_rounds_down_and_stops_at_the_highest():
    rule = TimeLimit.parse("adaptive:31,1,1.5", 50)
    assert rule.next(31, [31]) == 46
    assert rule.next(46, [46]) == 50
    assert TimeLimit.parse("adaptive:31,1,1.5", 20).first == 20


def test_mean_is_a_multiple_of_the_mean_length():
    rule = TimeLimit.parse("mean:2", 1000)
    assert rule.first == 1000
    assert rule.next(1000, [10, 21]) == 31
    assert rule.next(31, [900, 900]) == 1000


@pytest.mark.parametrize(
    "text",
    ["", "none", "adaptive", "adaptive:1,2,3", "adaptive:0,1,2", "adaptive:inf,0.5,2", "mean:0.5", "mean:a", "mean:inf",
     "mean"],
)  # fmt: skip
def test_anything_else_is_refused(text):
    with pytest.raises(ValueError, match="time_limit must be"):
        TimeLimit.parse(text, 100)
