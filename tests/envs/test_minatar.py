"""MinAtar's games: its own planes as bytes, the same episodes from the same seeds, and runs on them."""

import numpy as np
import pytest

from erlbench.envs.registry import build, problem
from tests.programs import needed_module

minatar = needed_module("minatar")
GAMES = {"Asterix": "asterix", "Breakout": "breakout", "SpaceInvaders": "space_invaders"}


@pytest.mark.parametrize("game", GAMES)
def test_images_are_minatars_planes(game):
    task = problem(f"MinAtar/{game}-v1")
    env, theirs = build(task.env), minatar.Environment(GAMES[game])
    seen, _ = env.reset(seed=7)
    theirs.seed(7)
    theirs.reset()
    random, actions = np.random.default_rng(0), theirs.minimal_action_set()
    assert task.image[1:] == (10, 10)
    for _ in range(300):
        planes = seen.reshape(task.image).transpose(1, 2, 0)
        np.testing.assert_array_equal(planes, np.uint8(255) * theirs.state())
        action = int(random.integers(task.action_size))
        seen, reward, ended, truncated, _ = env.step(action)
        assert (reward, ended, truncated) == (*theirs.act(actions[action]), False)
        if ended:
            seen, _ = env.reset(seed=8)
            theirs.seed(8)
            theirs.last_action = 0
            theirs.reset()
