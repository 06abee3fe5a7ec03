"""MinAtar's games: its own planes as bytes, the same episodes from the same seeds, and runs on them."""

from __future__ import annotations

import numpy as np
import pytest

from erlbench.envs.registry import build, problem
from erlbench.errors import UsageError
from erlbench.policy import load_policy
from tests.programs import needed_module
from tests.runs import all_rows, interrupt, make_cell, run

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


def test_processes_and_interrupts_change_no_row_and_no_policy(tmp_path):
    """The pixel test that is fast: virtual batch normalisation, a pool, a stop."""
    settings = {"population": 4, "hidden": (8,), "reference_batch": 6}

    def new_cell(name):
        return make_cell("openai-es", tmp_path / name, "MinAtar/Breakout-v1", 1000, settings=settings)

    alone, other = new_cell("alone"), interrupt(new_cell("other"), 9, processes=2)
    assert run(alone) == run(other, processes=2) == 0
    assert all_rows(alone.directory) == all_rows(other.directory)
    spec = load_policy(other.directory).spec
    assert (spec.image, spec.reference) == ((4, 10, 10), 6)
    assert spec.learnt_size == 16 * 4 * 9 + 16 + (16 * 64 + 1) * 8 + (8 + 1) * 3


def test_a_game_that_is_not_there():
    with pytest.raises(UsageError, match="did you mean 'MinAtar/Breakout-v1'"):
        problem("MinAtar/Brakeout-v1")
