"""Time limits from all places: an episode is as long as the one that `gymnasium.make` plays."""

import gymnasium
import numpy as np
import pytest

from erlbench.envs.chain import MOST_STEPS
from erlbench.envs.registry import build, describe_problem, make, problem
from erlbench.envs.wrappers import RepeatAction
from erlbench.errors import UsageError
from erlbench.work.rollout import play
from tests import limited
from tests.runs import new_policy

NAMES = [f"tests.limited:Limited{name}-v0" for name in limited.IDS]


def expected(env):
    """Steps of an episode of Gymnasium's, and whether it terminates; None where it does not end."""
    env.reset(seed=0)
    for step in range(1, 1001):
        _, _, terminated, truncated, _ = env.step(np.zeros(1, np.float32))
        if terminated or truncated:
            return step, terminated
    return None


def played(name, settings):
    """Steps of an episode of the suite's, and whether it terminates."""
    task = problem(name, settings)
    episode = play(build(task.env), new_policy(task), task.env.max_episode_steps, 0)
    return episode.length, episode.terminated


@pytest.mark.parametrize("settings", [{}, *({"max_episode_steps": limit} for limit in (20, 60, 120, 400))], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_an_episode_is_as_long_as_gymnasiums(name, settings):
    there = expected(gymnasium.make(name, **settings))
    if there is None:
        with pytest.raises(UsageError, match="has no time limit"):
            problem(name, settings)
    else:
        assert played(name, settings) == there


def test_a_limit_counts_steps_where_nobody_repeats_them():
    assert make("tests.limited:LimitedFactory-v0")[1] == 50


@pytest.mark.parametrize("limit", [10, 13, 17, 40])
@pytest.mark.parametrize("name", NAMES)
def test_the_limit_counts_actions_where_the_suite_repeats_them(name, limit):
    there = expected(RepeatAction(gymnasium.make(name, max_episode_steps=3 * limit), 3))
    assert played(name, {"max_episode_steps": limit, "frame_skip": 3}) == there


@pytest.mark.parametrize(
    ("name", "settings", "remarks"), [("Plain", {"max_episode_steps": 400}, 0), ("Factory", {}, 1), ("Within", {}, 1)]
)
def test_a_limit_within_that_shortens_episodes_is_remarked(name, settings, remarks):
    assert len(describe_problem(f"tests.limited:Limited{name}-v0", settings).remarks) == remarks


def test_a_limit_that_the_constructor_keeps_is_taken_and_remarked():
    found = describe_problem("tests.limited:LimitedOwn-v0")
    assert (found.problem.env.max_episode_steps, len(found.remarks)) == (70, 1)
    assert problem("tests.limited:LimitedOwn-v0", {"limit": MOST_STEPS}).env.max_episode_steps == MOST_STEPS
    for no_limit in (0, MOST_STEPS + 1, True):
        with pytest.raises(UsageError, match="has no time limit"):
            problem("tests.limited:LimitedOwn-v0", {"limit": no_limit})
