"""TD3 and SAC as one would write them in plain torch: the references of the suite in a loop with a replay of arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import gymnasium
import numpy as np
import torch
from torch import Tensor

from erlbench.algorithms import sac, td3
from erlbench.algorithms.gradients.reference.networks import Experience, normal
from erlbench.algorithms.gradients.reference.sac import SACReference
from erlbench.algorithms.gradients.reference.td3 import TD3Reference
from erlbench.algorithms.policy_settings import policy_of
from erlbench.algorithms.training.critic import critic_spec
from erlbench.algorithms.training.update_settings import TD3Update
from erlbench.envs.registry import Problem


class TD3:
    """Fujimoto et al. 2018; actions are those normalised to [-1, 1]."""

    def __init__(self, problem: Problem, hidden: Sequence[int], batch_size: int) -> None:
        self.settings = td3.TD3Settings(hidden=tuple(hidden), critic_hidden=tuple(hidden), batch_size=batch_size)
        policy = policy_of(problem, self.settings)
        critic = critic_spec(policy, hidden, self.settings.critic_activation)
        update = TD3Update.of(self.settings, policy, critic)
        self.reference, self._updates = TD3Reference(update, td3.initial_learner(policy, critic, (0,))), 0

    def act(self, observation: Tensor, random: np.random.Generator) -> Tensor:
        """With exploration noise."""
        action: Tensor = self.reference.actor(observation)
        return (action + self.settings.exploration_noise * normal(action, random)).clamp(-1, 1)

    def update(self, replay: Experience, random: np.random.Generator) -> None:
        """The actor and the targets every second time."""
        self.reference.update(self._updates, replay, random)
        self._updates += 1


class SAC:
    """Haarnoja et al. 2018 (v2), with a learnt temperature."""

    def __init__(self, problem: Problem, hidden: Sequence[int], batch_size: int) -> None:
        settings = sac.SACSettings(hidden=tuple(hidden), critic_hidden=tuple(hidden), batch_size=batch_size)
        policy = policy_of(problem, settings)
        critic = critic_spec(policy, hidden, settings.critic_activation)
        learner = sac.initial_learner(policy, critic, False, (0,))
        self.reference, self._actions = SACReference(sac.update_of(settings, policy, critic), learner), policy.sizes[-1]

    def act(self, observation: Tensor, random: np.random.Generator) -> Tensor:
        """A sample."""
        noise = torch.from_numpy(random.standard_normal(self._actions, dtype=np.float32))
        return self.reference.actor.sample(observation[None], noise)[0][0]

    def update(self, replay: Experience, random: np.random.Generator) -> None:
        """Critics, actor, temperature, targets."""
        self.reference.update(replay, random)


class Loop:
    """An environment, a replay, and an agent."""

    def __init__(self, env_id: str, agent: TD3 | SAC, capacity: int = 100_000) -> None:
        self._env: Any = gymnasium.make(env_id)
        self._agent = agent
        widths = self._env.observation_space.shape[0], self._env.action_space.shape[0]
        columns = (widths[0], widths[1], 1, 1, widths[0])
        self._columns = [np.zeros((capacity, width), np.float32) for width in columns]
        self._replay = Experience(*map(torch.from_numpy, self._columns))  # the same memory
        self._random, self._length = np.random.default_rng(0), 0
        self._observation, _ = self._env.reset(seed=0)

    def explore(self, steps: int) -> None:
        """Take random steps."""
        width = self._replay.actions.shape[1]
        self._take(steps, lambda: self._random.uniform(-1, 1, width).astype(np.float32), learns=False)

    def learn(self, steps: int) -> None:
        """Take the agent's steps, each followed by an update."""

        def act() -> np.ndarray:
            with torch.no_grad():
                return self._agent.act(torch.as_tensor(self._observation, dtype=torch.float32), self._random).numpy()

        self._take(steps, act, learns=True)

    def _take(self, steps: int, act: Callable[[], np.ndarray], learns: bool) -> None:
        for _ in range(steps):
            action = act()
            observation, reward, terminated, truncated, _ = self._env.step(action)
            row = (self._observation, action, reward, not terminated, observation)
            for column, value in zip(self._columns, row):
                column[self._length % len(column)] = value
            self._length += 1
            self._observation = self._env.reset()[0] if terminated or truncated else observation
            if learns:
                self._agent.update(Experience(*(column[: self._length] for column in self._replay)), self._random)


AGENTS: Mapping[str, type[TD3 | SAC]] = MappingProxyType({"td3": TD3, "sac": SAC})
