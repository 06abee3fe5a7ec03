"""The program of `learners/ddpg.py`."""

from __future__ import annotations

from erlbench.algorithms.gradients.programs.joint import JointLearner
from erlbench.algorithms.gradients.programs.networks import Network, polyak_update
from erlbench.algorithms.gradients.programs.program import Program
from erlbench.algorithms.gradients.programs.td3 import Actor, Critics
from erlbench.algorithms.training.update_settings import DDPGUpdate
from erlbench.policy import NumpyPolicy


class DDPGProgram(JointLearner):
    """DDPG's networks and its update on one minibatch; `state` is the flat vector of `ddpg.initial_learner`."""

    def __init__(self, settings: DDPGUpdate, device: str) -> None:
        policy, critic, batch_size = settings.policy, settings.critic, settings.batch_size
        if critic.count != 1:
            raise ValueError(f"DDPG has one critic, not {critic.count}")
        super().__init__(settings, 4 * policy.size + 4 * critic.size, policy.size, 0, device)
        self._actors = self.state[: 4 * policy.size].view(4, policy.size)  # online, target, Adam's moments
        self.critics = Critics(
            critic,
            batch_size,
            self.state[4 * policy.size :].view(critic.shape),
            self.numbers["critic_learning_rate"],
            self.numbers["discount"],
            weight_decay=settings.critic_weight_decay,
            gradient_clip=settings.critic_gradient_clip,
        )
        online, target, *moments = self._actors
        q, rate = self.critics.state[0], self.numbers["actor_learning_rate"]
        self.actor = Actor(policy, critic, self._batch.observations, [online, *moments], q, rate)
        self.adams = self.critics.adam, self.actor.adam
        self._target = Network(policy.sizes, policy.activation, "tanh", target[None], self._batch.next_observations)
        self.acting = NumpyPolicy(policy, self._host.tensor.numpy())
        self.report = self.critics.loss[None]
        self.programs = [self._update()]

    def _update(self) -> Program:
        """A step of the critic towards y = r + discount * Q'(s', pi'(s')), one of the actor up Q; targets follow."""
        critics, tau = self.critics, self.numbers["tau"]
        return [
            *self._target.forward(),
            *critics.inputs.read(self._batch, self._target.outputs[0]),
            *critics.target_values(),
            *critics.fit(),
            *self.actor.step(),
            critics.polyak_update(tau),
            polyak_update(self._actors[1], self._actors[0], tau),
        ]
