"""TD3 written with torch.nn, autograd and torch.optim: what the hand-written passes are compared with."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from erlbench.algorithms.training.critic import CriticSpec
from erlbench.policy import PolicySpec

MODULES = {"tanh": nn.Tanh, "relu": nn.ReLU, "leaky-relu": nn.LeakyReLU}


def network(sizes, activation, vector, output=None) -> nn.Sequential:
    """A torch MLP with the parameters of a flat vector."""
    layers: list[nn.Module] = []
    for inputs, outputs in zip(sizes, sizes[1:]):
        layers += [nn.Linear(inputs, outputs), MODULES[activation]()]
    layers[-1:] = [output] if output else []
    module = nn.Sequential(*layers)
    vector_to_parameters(torch.from_numpy(np.array(vector, np.float32)), module.parameters())
    return module


def actor(policy: PolicySpec, vector) -> nn.Sequential:
    """The actor of a flat vector; normalised actions."""
    return network(policy.sizes, policy.activation, vector, nn.Tanh())


def critics(spec: CriticSpec, row) -> nn.ModuleList:
    """Q1 and Q2 of one row of the critics' array."""
    return nn.ModuleList(network(spec.sizes, spec.activation, row[k * spec.size :][: spec.size]) for k in range(2))


def vector(module: nn.Module) -> np.ndarray:
    """All parameters of a module, flat."""
    return parameters_to_vector(module.parameters()).detach().numpy()


def critic_step(online, target, optimiser, batch, target_action, discount) -> float:
    """One update of the twin critics; returns the loss."""
    observation, transition, next_observation = batch
    action, reward, goes_on = transition[:, :-2], transition[:, -2:-1], transition[:, -1:]
    with torch.no_grad():
        q = [critic(torch.cat([next_observation, target_action], 1)) for critic in target]
        y = reward + discount * goes_on * torch.min(*q)
    loss = sum(nn.functional.mse_loss(critic(torch.cat([observation, action], 1)), y) for critic in online)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    return loss.item()


def actor_step(policy, q1, optimiser, observation) -> None:
    """One update of the actor towards higher Q1."""
    loss = -q1(torch.cat([observation, policy(observation)], 1)).mean()
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()


def soft_update(target, online, tau) -> None:
    """target <- tau * online + (1 - tau) * target."""
    with torch.no_grad():
        for a, b in zip(target.parameters(), online.parameters()):
            a.copy_(tau * b + (1 - tau) * a)
