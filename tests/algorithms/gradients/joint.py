"""Learners of an actor and critics together: the fast program, the learner as papers have it, and their settings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from erlbench.algorithms.gradients.learners.ddpg import DDPGLearner
from erlbench.algorithms.gradients.learners.sac import SACLearner
from erlbench.algorithms.gradients.learners.td3 import TD3Learner
from erlbench.algorithms.gradients.programs.sac import SACProgram
from erlbench.algorithms.gradients.programs.td3 import DDPGProgram, TD3Program
from erlbench.algorithms.training.critic import (
    actor_size,
    critic_spec,
    initial_learner,
    initial_soft_learner,
    learner_parts,
)
from erlbench.algorithms.training.update_settings import DDPGUpdate, SACUpdate, TD3Update, Update, both_rates
from erlbench.policy import ACTIVATIONS, PolicySpec
from tests.devices import DEVICE

ACTION, BATCH = 2, 32
TARGETS = {"discount": 0.99, "tau": 0.005}


def policy_spec(activation="relu"):
    return PolicySpec((3, 24, 16, ACTION), activation, (-2.0,) * ACTION, (2.0,) * ACTION)


@dataclass(frozen=True)
class Joint:
    """A learner at its beginning."""

    program: type
    learner: type
    update: Update
    initial: np.ndarray
    shapes: tuple[tuple[int, int], ...]  # of the parts of its vector: parameters, perhaps targets, and moments
    noises: int

    def begin(self):
        """The program, its state, and a function that starts it anew."""
        program = self.program(self.update, DEVICE)
        return program, program.state, lambda: program.load(self.initial, 0, 0)


def td3(activation, delay):
    policy = policy_spec(activation)
    critic = critic_spec(policy, (20, 12), activation)
    noise = {"target_noise": 0.2, "noise_clip": 0.5}
    update = TD3Update(policy, critic, BATCH, **both_rates(1e-3), **TARGETS, **noise, policy_delay=delay)
    initial = initial_learner(policy, critic, (5,))
    return Joint(TD3Program, TD3Learner, update, initial, ((4, policy.size), critic.shape), 1)


def ddpg(decay, clip):
    policy = policy_spec("tanh")
    critic = critic_spec(policy, (16, 12), "relu", 1)
    rates = {"actor_learning_rate": 1e-4, "critic_learning_rate": 1e-3}
    update = DDPGUpdate(policy, critic, BATCH, **rates, **TARGETS, critic_weight_decay=decay, critic_gradient_clip=clip)
    initial = initial_learner(policy, critic, (5,), 3e-3)
    return Joint(DDPGProgram, DDPGLearner, update, initial, ((4, policy.size), critic.shape), 0)


def sac(temperature=None, value_network=False, reward_scale=1.0):
    policy = policy_spec()
    critic = critic_spec(policy, (20, 12), "relu")
    more = {"temperature": temperature, "value_network": value_network, "reward_scale": reward_scale}
    update = SACUpdate(policy, critic, BATCH, **both_rates(3e-4), **TARGETS, target_entropy=-2.0, **more)
    initial = initial_soft_learner(policy, critic, (5,), value_network)
    initial[actor_size(policy) - 1] = 2.0  # a log std around the bound
    shapes = tuple(learner_parts(policy, critic, value_network).values())
    return Joint(SACProgram, SACLearner, update, initial, shapes, 2)


JOINT = {
    **{
        f"td3, {activation}, {delay}": partial(td3, activation, delay)
        for activation in ACTIVATIONS
        for delay in (1, 2, 3)
    },
    "ddpg": partial(ddpg, 0.0, None),
    "ddpg, decay": partial(ddpg, 1e-2, None),
    "ddpg, clipped": partial(ddpg, 1e-2, 0.4),
    "sac": sac,
    "sac, fixed temperature": partial(sac, 0.2),
    "sac, v1": partial(sac, 1.0, True, 5.0),
    "sac, value network": partial(sac, None, True),
}
