"""Whole sequences of updates by the fast programs, against the learners as papers have them, on the same draws."""

import numpy as np
import pytest
import torch

from erlbench.algorithms.gradients.minibatches import Minibatches, Noise
from erlbench.algorithms.gradients.programs.program import InTurn
from erlbench.algorithms.gradients.updates import make_updates
from tests.algorithms.test_stable_baselines3 import filled_memory

from .joint import ACTION, BATCH, JOINT
from .test_updates import close

UPDATES = 20


@pytest.mark.parametrize("name", JOINT)
def test_programs_equal_the_losses(name, context):
    """Every network, its target and Adam's moments, the temperature, and the numbers that an update reports."""
    joint, memory = JOINT[name](), filled_memory(context, np.random.default_rng(0), ACTION)
    expected, random, reports = torch.from_numpy(joint.initial.copy()), np.random.default_rng(1), []
    learner, minibatches = joint.learner(joint.update, expected), Minibatches(joint.update.policy, BATCH, 1, "cpu")
    noise = Noise((joint.noises, BATCH, ACTION), "cpu")
    for number in range(UPDATES):
        minibatches.draw(memory, random)
        noise.draw(random)
        reports.append(learner.update(number, minibatches[0], noise.values).numpy())
    program, state, begin = joint.begin()
    begin()
    close(make_updates(program, memory, np.random.default_rng(1), InTurn(), range(UPDATES)).cpu().numpy(), reports)
    ends = np.cumsum([rows * columns for rows, columns in joint.shapes])[:-1]
    for part, wanted, shape in zip(*(np.split(x, ends) for x in (state.cpu().numpy(), expected.numpy())), joint.shapes):
        *networks, first, second = zip(part.reshape(shape), wanted.reshape(shape))
        for row in networks:
            close(*row)
        for moments in (first, second):
            close(*moments, 1e-4)
