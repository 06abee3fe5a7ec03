"""SAC written with autograd and torch.optim on flat vectors: what the hand-written passes are compared with."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch.nn import functional

from erlbench.algorithms.sac import learner_parts, value_sizes
from erlbench.algorithms.training.critic import CriticSpec
from erlbench.policy import PolicySpec, layer_slices, parameter_count

ACTIVATIONS = {"tanh": torch.tanh, "relu": torch.relu, "leaky-relu": functional.leaky_relu}


def mlp(sizes, activation, vector, x):
    """An MLP of a flat vector, linear at its end."""
    layers = list(zip(layer_slices(sizes), sizes, sizes[1:]))
    for index, ((weight, bias), inputs, outputs) in enumerate(layers):
        x = functional.linear(x, vector[weight].view(outputs, inputs), vector[bias])
        if index < len(layers) - 1:
            x = ACTIVATIONS[activation](x)
    return x


def sample(policy: PolicySpec, vector, observation, noise):
    """A reparameterised action and its log probability `(batch, 1)`."""
    split = parameter_count(policy.sizes[:-1])
    mean = mlp(policy.sizes, policy.activation, vector[: policy.size], observation)
    log_std = mlp(policy.sizes, policy.activation, torch.cat([vector[:split], vector[policy.size :]]), observation)
    normal = torch.distributions.Normal(mean, log_std.clamp(-20, 2).exp())
    u = normal.mean + normal.stddev * noise
    action = torch.tanh(u)
    return action, (normal.log_prob(u) - torch.log(1 - action**2 + 1e-6)).sum(1, keepdim=True)


class SoftActorCritic:
    """All networks of a learner's flat vector, each with its own torch.optim.Adam."""

    def __init__(self, policy: PolicySpec, critic: CriticSpec, value_network: bool, learner, rate: float) -> None:
        self.policy, self.critic, self.online = policy, critic, {}
        shapes = learner_parts(policy, critic, value_network)
        start, self.target = 0, {}
        for name, (rows, columns) in shapes.items():
            part = torch.from_numpy(np.array(learner[start : start + rows * columns])).view(rows, columns)
            start += rows * columns
            self.online[name] = part[0].clone().requires_grad_()
            if rows == 4:
                self.target[name] = part[1].clone()
        self.optimisers = {name: torch.optim.Adam([vector], lr=rate) for name, vector in self.online.items()}

    def q(self, vector, observation, action):
        """Q1 and Q2, `(2, batch, 1)`."""
        x = torch.cat([observation, action], 1)
        return torch.stack([mlp(self.critic.sizes, self.critic.activation, half, x) for half in vector.chunk(2)])

    def v(self, vector, observation):
        """V, `(batch, 1)`."""
        return mlp(value_sizes(self.policy, self.critic), self.critic.activation, vector, observation)

    def descend(self, name, loss):
        self.optimisers[name].zero_grad()
        loss.backward(inputs=[self.online[name]])
        self.optimisers[name].step()

    def step(self, batch, next_noise, noise, settings) -> tuple[float, float]:
        """One update of everything; the critics' loss and the mean log probability."""
        observation, transition, following = batch
        action, reward, goes_on = transition[:, :-2], transition[:, -2:-1], transition[:, -1:]
        online, target, value_network = self.online, self.target, "value" in self.online
        fixed = settings["temperature"]
        alpha = math.exp(online["temperature"].item()) if fixed is None else fixed
        with torch.no_grad():
            if value_network:
                value = self.v(target["value"], following)
            else:
                next_action, log_probability = sample(self.policy, online["actor"], following, next_noise)
                value = self.q(target["critic"], following, next_action).amin(0) - alpha * log_probability
            y = settings["reward_scale"] * reward + settings["discount"] * goes_on * value
        loss = 0.5 * ((self.q(online["critic"], observation, action) - y) ** 2).mean((1, 2)).sum()
        self.descend("critic", loss)
        sampled, log_probability = sample(self.policy, online["actor"], observation, noise)
        objective = alpha * log_probability - torch.min(self.q(online["critic"], observation, sampled), 0)[0]
        self.descend("actor", objective.mean())
        if value_network:
            self.descend("value", 0.5 * ((self.v(online["value"], observation) + objective.detach()) ** 2).mean())
        mean = log_probability.detach().mean()
        if fixed is None:
            self.descend("temperature", -(online["temperature"] * (mean + settings["target_entropy"])).sum())
        tracked = "value" if value_network else "critic"
        with torch.no_grad():
            target[tracked] += settings["tau"] * (online[tracked] - target[tracked])
        return loss.item(), mean.item()
