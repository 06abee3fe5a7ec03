"""What the iterations of PPO and TRPO share: steps are ours, networks, buffer and updates stable-baselines3's.

The environment's actions and the normalisation are numpy, as in stable-baselines3's loop and its `VecNormalize`; the
networks' values and log probabilities follow in one batch after the last step. Nothing reads a global generator of
random numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.common.type_aliases import RolloutBufferSamples
from torch import Tensor

from erlbench.algorithms.gradients.minibatches import load, saved
from erlbench.algorithms.gradients.ppo_collection import Rollout, collect
from erlbench.algorithms.parts.on_policy_settings import (
    OnPolicyIteration,
    OnPolicySettings,
    actor_parameters,
    reported_parameters,
)
from erlbench.envs.registry import Problem
from erlbench.errors import NumericalError
from erlbench.work.contract import info_values
from erlbench.work.seeding import Key, Purpose, generator
from erlbench.work.tasks import Outcome
from erlbench.work.workspace import Workspace

ACTIVATION_MODULES = {"tanh": torch.nn.Tanh, "relu": torch.nn.ReLU, "leaky-relu": torch.nn.LeakyReLU}
Learning = TypeVar("Learning", bound=OnPolicySettings)
Steps = tuple[int, dict[str, float]]


def iterate(
    learning: Learning,
    settings: OnPolicyIteration,
    inputs: Mapping[str, Any],
    key: Key,
    workspace: Workspace,
    learner_type: type[OnPolicyLearner[Learning]],
) -> Outcome:
    """`steps` environment steps and the updates from them: the task of an iteration.

    Inputs: `learner` and `statistics` (see `erlbench.algorithms.parts.on_policy_settings`), and `actions`
    and `observation` of the episode that goes on.
    Values: `returns` and `lengths` of the episodes that ended, `steps`, `replayed`
    (steps made again to get back into the episode that goes on), `critic_updates`, `actor_updates`, `seed` (of
    the episode that goes on) and `metrics`. Arrays: `learner`, `actor`, `statistics`, `actions`, `observation`.
    A NaN or infinite value raises `NumericalError`.
    """
    problem = settings.problem
    name = (learner_type, repr((problem, learning, settings.steps)))
    if name not in workspace.scratch:  # its contents never outlive a task
        workspace.scratch[name] = learner_type(problem, learning, settings.steps, workspace.device)
    learner: OnPolicyLearner[Learning] = workspace.scratch[name]
    learner.load(inputs["learner"], settings.updates)
    host = np.asarray(inputs["learner"][0])
    network = actor_parameters(host, problem, learning.hidden)
    deviations = None if problem.discrete else np.exp(host[: problem.action_size])
    rollout = collect(learning, settings, inputs, network, deviations, key, workspace)
    steps, metrics = learner.train(rollout, settings, generator(*key, int(Purpose.MINIBATCH)))
    state = saved(learner.state, "the learner")
    statistics = rollout.statistics.array()
    arrays = {
        "learner": state,
        "actor": reported_parameters(state[0], statistics, problem, learning),
        "statistics": statistics,
        "actions": rollout.actions_to_replay,
        "observation": rollout.observation,
    }
    values = {
        "returns": rollout.returns,
        "lengths": rollout.lengths,
        "steps": settings.steps,
        "replayed": rollout.replayed,
        "critic_updates": steps,
        "actor_updates": learner.actor_steps(steps, metrics),
        "seed": rollout.seed,
        "metrics": metrics,
        **info_values(rollout.infos),
    }
    return Outcome(values, arrays)


class Buffer(RolloutBuffer):
    """stable-baselines3's rollout buffer, but its minibatches are drawn from `random`, not from numpy's generator."""

    random: np.random.Generator

    def get(self, batch_size: int | None = None) -> Iterator[RolloutBufferSamples]:  # type: ignore[override]
        """All steps once, in random order, `batch_size` at a time."""
        if not self.generator_ready:
            for name in ("observations", "actions", "values", "log_probs", "advantages", "returns"):
                setattr(self, name, self.swap_and_flatten(getattr(self, name)))
            self.generator_ready = True
        indices, size = self.random.permutation(self.buffer_size), batch_size or self.buffer_size
        for start in range(0, self.buffer_size, size):
            yield self._get_samples(indices[start : start + size])

    def fill(self, rollout: Rollout, rewards: np.ndarray, values: Tensor, log_probs: Tensor) -> None:
        """Take in all steps of a rollout at once."""
        self.reset()
        self.observations[:, 0], self.actions[:, 0] = rollout.observations, rollout.actions
        self.rewards[:, 0], self.episode_starts[:, 0] = rewards, rollout.starts
        self.values[:, 0], self.log_probs[:, 0] = values.cpu().numpy(), log_probs.cpu().numpy()
        self.pos, self.full = self.buffer_size, True


class OnPolicyLearner(ABC, Generic[Learning]):
    """stable-baselines3's model, whose parameters and Adam moments are views of `state`, float32 `(3, P)`."""

    columns: ClassVar[Mapping[str, str]]
    """Columns of train.csv, and what stable-baselines3 logs for them."""
    losses: ClassVar[tuple[str, ...]]
    """The columns that must be finite."""

    def __init__(self, problem: Problem, learning: Learning, steps: int, device: str) -> None:
        rate, constant = learning.learning_rate, learning.learning_rate_schedule == "constant"
        several = steps > getattr(learning, "subsampling", 1)  # one advantage has no deviation
        with torch.random.fork_rng(devices=[]):  # the initial parameters, which are overwritten
            self._model = self.model(
                learning,
                learning_rate=lambda progress: rate if constant else rate * progress,
                n_steps=steps,
                batch_size=learning.batch_size,
                gamma=learning.discount,
                gae_lambda=learning.gae_lambda,
                normalize_advantage=learning.normalise_advantages and several,
                target_kl=learning.target_divergence,
                rollout_buffer_class=Buffer,
                policy_kwargs={
                    "net_arch": list(learning.hidden),
                    "activation_fn": ACTIVATION_MODULES[learning.activation],
                },
                device=device,
                _init_setup_model=False,
            )
            self._model.observation_space = spaces.Box(-np.inf, np.inf, (problem.observation_size,), np.float32)
            self._model.action_space = (
                spaces.Discrete(problem.action_size)
                if problem.discrete
                else spaces.Box(np.array(problem.action_low, np.float32), np.array(problem.action_high, np.float32))
            )
            self._model.n_envs = 1
            self._model._setup_model()
        self._model.set_logger(Logger(None, []))
        self._policy = self._model.policy
        self._policy.set_training_mode(False)
        self.state, self._counts = self._share_parameters()

    @staticmethod
    @abstractmethod
    def model(learning: Learning, **common: Any) -> OnPolicyAlgorithm:
        """The model with the settings `common`, which others share, and specific ones; it has no environment."""

    @abstractmethod
    def updates(self, random: np.random.Generator) -> None:
        """Make the model's updates from its buffer."""

    def _share_parameters(self) -> tuple[Tensor, list[Tensor]]:
        """Move parameters and Adam's moments into one tensor; it, and Adam's counts of steps."""
        parameters = list(self._policy.parameters())
        state = torch.zeros(3, sum(p.numel() for p in parameters), device=self._model.device)
        torch.nn.utils.vector_to_parameters(state[0], parameters)
        counts, start = [], 0
        for parameter in parameters:
            span = slice(start, start := start + parameter.numel())
            counts.append(torch.zeros(()))
            self._policy.optimizer.state[parameter] = {
                "step": counts[-1],
                "exp_avg": state[1, span].view(parameter.shape),
                "exp_avg_sq": state[2, span].view(parameter.shape),
            }
        return state, counts

    def load(self, array: np.ndarray, updates: int) -> None:
        """Take over a learner that has made so many updates."""
        load(self.state, array)
        for count in self._counts:
            count.fill_(updates)

    def train(self, rollout: Rollout, settings: OnPolicyIteration, random: np.random.Generator) -> Steps:
        """stable-baselines3's updates from a rollout: gradient steps of the value network, and what it logs."""
        model, buffer = self._model, self._model.rollout_buffer
        assert isinstance(buffer, Buffer)
        self._fill(buffer, rollout)
        buffer.random = random
        model._current_progress_remaining = settings.progress
        self.updates(random)
        self._policy.set_training_mode(False)
        logged = model.logger.name_to_value
        metrics = {column: float(logged[name]) for column, name in self.columns.items() if name in logged}
        if not np.isfinite([metrics[name] for name in self.losses]).all():
            raise NumericalError(f"the loss of {type(model).__name__} has a NaN or infinite value")
        return int(self._counts[-1]) - settings.updates, metrics

    def actor_steps(self, steps: int, metrics: dict[str, float]) -> int:
        """Gradient steps of the policy in an iteration in which the value network made `steps`: as many."""
        return steps

    def _fill(self, buffer: Buffer, rollout: Rollout) -> None:
        """The buffer with values, log probabilities and advantages; a truncated episode goes on in its value."""
        device, rewards = self._model.device, rollout.rewards.copy()
        with torch.no_grad():
            observations = torch.from_numpy(rollout.observations).to(device)
            actions = torch.from_numpy(rollout.actions).to(device)
            if isinstance(self._model.action_space, spaces.Discrete):
                actions = actions.long().flatten()
            values, log_probs, _ = self._policy.evaluate_actions(observations, actions)
            if rollout.truncated:
                steps, finals = zip(*rollout.truncated)
                beyond = self._policy.predict_values(torch.from_numpy(np.stack(finals)).to(device))
                rewards[list(steps)] += self._model.gamma * beyond.flatten().cpu().numpy()
            last = self._policy.predict_values(torch.from_numpy(rollout.next_observation[None]).to(device))
        buffer.fill(rollout, rewards, values.flatten(), log_probs)
        buffer.compute_returns_and_advantage(last, np.array([rollout.ended]))
