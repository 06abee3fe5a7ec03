"""What a cell may take."""

from __future__ import annotations

import dataclasses

from erlbench.envs.registry import problem
from erlbench.experiment.estimate import START_SECONDS, estimate
from tests.runs import make_cell


def test_evaluations_are_no_more_than_the_generations(tmp_path):
    """With an evaluation due at each step; 1,000 steps are estimated at 0.1 s."""
    cell = make_cell("openai-es", tmp_path, steps=1000, eval_freq=1, eval_episodes=1)
    limited = dataclasses.replace(cell, total_generations=9)
    task = problem(cell.env)
    half = task.env.max_episode_steps / 2
    assert abs(estimate(cell, task, 1).core_seconds - START_SECONDS - (1000 + 1001 * half) * 1e-4) < 1e-9
    assert abs(estimate(limited, task, 1).core_seconds - START_SECONDS - (1000 + 10 * half) * 1e-4) < 1e-9
