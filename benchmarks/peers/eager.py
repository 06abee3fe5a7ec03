"""TD3 and SAC as one would write them in plain torch: modules, autograd, Adam, a replay of numpy arrays."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol

import gymnasium
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from erlbench.envs.registry import Problem

RATE, DISCOUNT, TAU = 3e-4, 0.99, 0.005
Batch = Sequence[Tensor]  # observations, actions, rewards, next observations, continues


class Agent(Protocol):
    """What a loop needs of an algorithm; actions are those normalised to [-1, 1]."""

    def act(self, observation: Tensor) -> Tensor:
        """The action to explore with."""

    def update(self, batch: Batch) -> None:
        """One update of everything."""


def mlp(inputs: int, hidden: Sequence[int], outputs: int) -> nn.Sequential:
    """Relu between the layers."""
    sizes, layers = (inputs, *hidden, outputs), list[nn.Module]()
    for before, after in zip(sizes, sizes[1:]):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class Critics(nn.Module):
    """Twin critics."""

    def __init__(self, problem: Problem, hidden: Sequence[int]) -> None:
        super().__init__()
        size = problem.observation_size + problem.action_size
        self.first, self.second = mlp(size, hidden, 1), mlp(size, hidden, 1)

    def forward(self, observations: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Both values, `(batch, 1)` each."""
        inputs = torch.cat([observations, actions], 1)
        return self.first(inputs), self.second(inputs)

    def loss(self, observations: Tensor, actions: Tensor, target: Tensor) -> Tensor:
        """The sum of their mean squared errors."""
        first, second = self(observations, actions)
        return functional.mse_loss(first, target) + functional.mse_loss(second, target)


def descend(optimiser: torch.optim.Optimizer, loss: Tensor) -> None:
    """One step down a loss."""
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()


@torch.no_grad()
def follow(target: nn.Module, online: nn.Module) -> None:
    """Move a target network."""
    for mine, its in zip(target.parameters(), online.parameters()):
        mine.lerp_(its, TAU)


class TD3:
    """Fujimoto et al. 2018."""

    def __init__(self, problem: Problem, hidden: Sequence[int]) -> None:
        self._actor = nn.Sequential(mlp(problem.observation_size, hidden, problem.action_size), nn.Tanh())
        self._critics = Critics(problem, hidden)
        self._actor_target, self._critics_target = copy.deepcopy(self._actor), copy.deepcopy(self._critics)
        self._actor_adam = torch.optim.Adam(self._actor.parameters(), RATE)
        self._critic_adam = torch.optim.Adam(self._critics.parameters(), RATE)
        self._updates = 0

    @torch.no_grad()
    def act(self, observation: Tensor) -> Tensor:
        """With exploration noise."""
        action = self._actor(observation)
        return (action + 0.1 * torch.randn_like(action)).clamp(-1, 1)

    def update(self, batch: Batch) -> None:
        """The actor and the targets every second time."""
        observations, actions, rewards, following, continues = batch
        with torch.no_grad():
            noise = (0.2 * torch.randn_like(actions)).clamp(-0.5, 0.5)
            next_actions = (self._actor_target(following) + noise).clamp(-1, 1)
            target = rewards + continues * DISCOUNT * torch.min(*self._critics_target(following, next_actions))
        descend(self._critic_adam, self._critics.loss(observations, actions, target))
        self._updates += 1
        if self._updates % 2 == 0:
            inputs = torch.cat([observations, self._actor(observations)], 1)
            descend(self._actor_adam, -self._critics.first(inputs).mean())
            follow(self._critics_target, self._critics)
            follow(self._actor_target, self._actor)


class SAC:
    """Haarnoja et al. 2018 (v2), with a learnt temperature."""

    def __init__(self, problem: Problem, hidden: Sequence[int]) -> None:
        self._actor = mlp(problem.observation_size, hidden, 2 * problem.action_size)
        self._critics = Critics(problem, hidden)
        self._critics_target = copy.deepcopy(self._critics)
        self._log_alpha = torch.zeros(1, requires_grad=True)
        self._actor_adam = torch.optim.Adam(self._actor.parameters(), RATE)
        self._critic_adam = torch.optim.Adam(self._critics.parameters(), RATE)
        self._alpha_adam = torch.optim.Adam([self._log_alpha], RATE)
        self._target_entropy = -float(problem.action_size)

    @torch.no_grad()
    def act(self, observation: Tensor) -> Tensor:
        """A sample."""
        return self._sample(observation)[0]

    def _sample(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        mean, log_std = self._actor(observations).chunk(2, -1)
        normal = torch.distributions.Normal(mean, log_std.clamp(-20, 2).exp())
        raw = normal.rsample()
        actions = raw.tanh()
        return actions, (normal.log_prob(raw) - torch.log(1 - actions**2 + 1e-6)).sum(-1, keepdim=True)

    def update(self, batch: Batch) -> None:
        """Critics, actor, temperature, targets."""
        observations, actions, rewards, following, continues = batch
        alpha = self._log_alpha.exp().detach()
        with torch.no_grad():
            next_actions, log_probability = self._sample(following)
            values = torch.min(*self._critics_target(following, next_actions)) - alpha * log_probability
            target = rewards + continues * DISCOUNT * values
        descend(self._critic_adam, 0.5 * self._critics.loss(observations, actions, target))
        sampled, log_probability = self._sample(observations)
        value = torch.min(*self._critics(observations, sampled))
        descend(self._actor_adam, (alpha * log_probability - value).mean())
        excess = (log_probability + self._target_entropy).mean().detach()
        descend(self._alpha_adam, -(self._log_alpha * excess).sum())
        follow(self._critics_target, self._critics)


class Loop:
    """An environment, a replay, and an agent."""

    def __init__(self, env_id: str, agent: Agent, batch_size: int, capacity: int = 100_000) -> None:
        self._env: Any = gymnasium.make(env_id)
        self._agent, self._batch_size = agent, batch_size
        widths = self._env.observation_space.shape[0], self._env.action_space.shape[0]
        shapes = ((capacity, widths[0]), (capacity, widths[1]), (capacity, 1), (capacity, widths[0]), (capacity, 1))
        self._replay = [np.zeros(shape, np.float32) for shape in shapes]
        self._random, self._length = np.random.default_rng(0), 0
        self._observation, _ = self._env.reset(seed=0)

    def explore(self, steps: int) -> None:
        """Take random steps."""
        for _ in range(steps):
            self._step(self._random.uniform(-1, 1, self._replay[1].shape[1]).astype(np.float32))

    def learn(self, steps: int) -> None:
        """Take the agent's steps, each followed by an update."""
        for _ in range(steps):
            self._step(self._agent.act(torch.as_tensor(self._observation, dtype=torch.float32)).numpy())
            rows = self._random.integers(0, min(self._length, len(self._replay[0])), self._batch_size)
            self._agent.update([torch.as_tensor(column[rows]) for column in self._replay])

    def _step(self, action: np.ndarray) -> None:
        observation, reward, terminated, truncated, _ = self._env.step(action)
        row = (self._observation, action, reward, observation, not terminated)
        for column, value in zip(self._replay, row):
            column[self._length % len(column)] = value
        self._length += 1
        self._observation = self._env.reset()[0] if terminated or truncated else observation


AGENTS: Mapping[str, type[TD3 | SAC]] = MappingProxyType({"td3": TD3, "sac": SAC})
