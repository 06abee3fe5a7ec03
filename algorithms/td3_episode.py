"""The task function of TD3: one episode with an update after every step."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
import torch
from torch import Tensor

from erlbench.algorithms.critic import CriticSpec
from erlbench.algorithms.learners import ActorLearner, CriticLearner, Minibatches, arithmetic, load, saved, smooth
from erlbench.algorithms.mlp import Mlp
from erlbench.errors import NumericalError, TaskError
from erlbench.policy import NumpyPolicy, PolicySpec
from erlbench.replay import ReplayReader
from erlbench.rollout import Episode, reset, transitions
from erlbench.seeding import Key, Purpose, environment_seed, generator
from erlbench.tasks import Outcome, ReplayView
from erlbench.workspace import Workspace


def train_episode(settings: Mapping[str, Any], inputs: Mapping[str, Any], key: Key, workspace: Workspace) -> Outcome:
    """Task function: one episode of at most `limit` steps, with updates.

    Step t of the run (from 0) takes a random action if t < `start_timesteps`; otherwise the actor's with noise, and
    is followed by an update from the replay and this episode so far.

    Settings: `env`, `policy`, `critic`, `timesteps`, `critic_updates` and `actor_updates` (counts before), `limit`,
    and those of `TD3Settings`. Inputs: `learner` (`td3.initial_learner`), `replay` (a view of the past).
    Values: `returns`, `lengths`, `critic_updates`, `actor_updates`, `critic_loss` (mean; 0 without updates).
    Arrays: `learner`, `actor`, and what `Replay.append` takes. A NaN or infinite value raises `NumericalError`.
    """
    policy: PolicySpec = settings["policy"]
    learner = _learner(workspace, policy, settings["critic"], settings["batch_size"])
    learner.load(inputs["learner"], settings["critic_updates"], settings["actor_updates"])
    memory = Memory(inputs["replay"], workspace, settings["limit"], settings["replay_capacity"])
    losses = torch.zeros(settings["limit"], device=workspace.device)
    sampling, exploring = generator(*key, int(Purpose.MINIBATCH)), generator(*key, int(Purpose.EXPLORATION))
    env, seed = workspace.environment(settings["env"]), environment_seed(*key, 0)
    episode = Episode(settings["limit"], policy.sizes[0], policy.sizes[-1])
    episode.observations[0] = memory.observations[0] = reset(env, seed)
    updates = actor_updates = 0
    ended = False
    while episode.length < settings["limit"] and not ended:
        warm = settings["timesteps"] + episode.length >= settings["start_timesteps"]
        action = episode.actions[episode.length]
        if warm:
            noise = exploring.standard_normal(len(action), dtype=np.float32)
            action[:] = learner.acting.normalised(episode.observations[episode.length])
            action += settings["exploration_noise"] * noise
            np.clip(action, -1.0, 1.0, out=action)
        else:
            action[:] = exploring.uniform(-1.0, 1.0, len(action))
        ended = _step(env, learner.acting, episode, seed)
        memory.add(episode)
        if warm:
            total = settings["critic_updates"] + updates
            delayed = (total + 1) % settings["policy_delay"] == 0
            with arithmetic():
                learner.update(settings, memory, sampling, losses[updates], delayed)
            if not math.isfinite(losses[updates]):
                raise NumericalError(f"the critic's loss of update {total + 1} is {losses[updates]:g}")
            updates += 1
            actor_updates += delayed
    episode.check()
    values = {
        "returns": [episode.total],
        "lengths": [episode.length],
        "critic_updates": updates,
        "actor_updates": actor_updates,
        "critic_loss": float(losses[:updates].double().mean()) if updates else 0.0,
    }
    state = saved(learner.state, "the learner")
    return Outcome(values, {"learner": state, "actor": state[: policy.size], **transitions([episode])})


class Learner:
    """TD3's networks, optimisers and buffers; `state` is the flat vector of `td3.initial_learner`."""

    def __init__(self, policy: PolicySpec, critic: CriticSpec, batch_size: int, device: str) -> None:
        self.state = torch.zeros(4 * policy.size + 8 * critic.size, device=device)
        self._actors = self.state[: 4 * policy.size].view(4, policy.size)  # online, target, Adam's moments
        self.critic = CriticLearner(critic, batch_size, self.state[4 * policy.size :].view(critic.shape))
        q1 = self.critic.state[0, : critic.size]
        self.actor = ActorLearner(policy, critic, batch_size, self._actors[0], self._actors[2], self._actors[3], q1)
        self.minibatch = Minibatches(policy, batch_size, 1, device)
        self._target = Mlp(
            policy.sizes, policy.activation, "tanh", self._actors[1][None], self.minibatch.next_observations
        )
        self._split, self._batch_size = policy.sizes[0], batch_size
        self._host_noise = torch.zeros(batch_size, policy.sizes[-1])
        self._noise = self._host_noise.to(device)
        self._host_actor = self._actors[0].cpu()  # on a CPU the same memory
        self.acting = NumpyPolicy(policy, self._host_actor.numpy())

    def load(self, array: np.ndarray, critic_updates: int, actor_updates: int) -> None:
        """Take over a learner that has made so many updates."""
        load(self.state, array)
        self.critic.adam.reset(critic_updates)
        self.actor.adam.reset(actor_updates)
        self._show_actor()

    def update(
        self, settings: Mapping[str, Any], memory: Memory, random: np.random.Generator, loss: Tensor, delayed: bool
    ) -> None:
        """One critic update on a fresh minibatch; with `delayed` also one of the actor and of all targets."""
        batch, critic, split = self.minibatch, self.critic, self._split
        batch.gather(memory, random.integers(memory.start, memory.stop, self._batch_size))
        random.standard_normal(out=self._host_noise.numpy(), dtype=np.float32)
        if self._noise is not self._host_noise:
            self._noise.copy_(self._host_noise)
        actions = self._target.forward()[0]
        smooth(actions, self._noise, settings["target_noise"], settings["noise_clip"])
        critic.inputs[:, :split] = batch.observations
        critic.inputs[:, split:] = batch.actions
        critic.next_inputs[:, :split] = batch.next_observations
        critic.next_inputs[:, split:] = actions
        critic.rewards.copy_(batch.rewards)
        critic.continues.copy_(batch.continues)
        critic.update(settings["discount"], settings["learning_rate"], loss)
        if delayed:
            self.actor.observations.copy_(batch.observations)
            self.actor.update(settings["learning_rate"])
            critic.track(settings["tau"])
            self._actors[1].lerp_(self._actors[0], settings["tau"])
            self._show_actor()

    def _show_actor(self) -> None:
        if self._host_actor.data_ptr() != self._actors[0].data_ptr():
            self._host_actor.copy_(self._actors[0])


class Memory:
    """The transitions of the past, a replay view, and behind them those of the present episode."""

    def __init__(self, view: ReplayView, workspace: Workspace, limit: int, capacity: int) -> None:
        self._reader: ReplayReader | None = workspace.replay(view) if view.stop > view.start else None
        self._past, self._capacity = view, capacity
        self.observations = np.empty((limit + 1, view.observation_size), np.float32)
        self._transitions = np.empty((limit, view.action_size + 2), np.float32)
        self.start, self.stop = view.start, view.stop

    def add(self, episode: Episode) -> None:
        """Take in the last step of the episode."""
        step = episode.length - 1
        self.observations[step + 1] = episode.observations[step + 1]
        transition = self._transitions[step]
        transition[:-2] = episode.actions[step]
        transition[-2], transition[-1] = episode.rewards[step], not episode.terminated
        self.stop = self._past.stop + step + 1
        self.start = max(self._past.start, self.stop - self._capacity)

    def gather(
        self,
        indices: np.ndarray,
        observations: np.ndarray,
        transitions: np.ndarray | None = None,
        next_observations: np.ndarray | None = None,
    ) -> None:
        """As `ReplayReader.gather`, but with the past's transitions before the present's."""
        past = indices[indices < self._past.stop]
        present = indices[indices >= self._past.stop] - self._past.stop
        split = len(past)
        if self._reader is not None:
            outputs = (array if array is None else array[:split] for array in (transitions, next_observations))
            self._reader.gather(past, observations[:split], *outputs)
        self.observations.take(present, axis=0, out=observations[split:], mode="clip")
        if transitions is not None:
            self._transitions.take(present, axis=0, out=transitions[split:], mode="clip")
        if next_observations is not None:
            self.observations.take(present + 1, axis=0, out=next_observations[split:], mode="clip")


def _step(env: gymnasium.Env[Any, Any], policy: NumpyPolicy, episode: Episode, seed: int) -> bool:
    """Step the environment with the action that stands in `episode`, record it, and tell whether it ended."""
    step = episode.length
    try:
        observation, reward, terminated, truncated, _ = env.step(policy.denormalise(episode.actions[step]))
        episode.observations[step + 1] = observation
        episode.rewards[step] = reward
    except Exception as error:
        message = f"the environment raised {type(error).__name__} at step {step + 1} (reset seed {seed}): {error}"
        raise TaskError(message) from error
    episode.total += float(reward)
    episode.length += 1
    episode.terminated = bool(terminated)
    return bool(terminated or truncated)


def _learner(workspace: Workspace, policy: PolicySpec, critic: CriticSpec, batch_size: int) -> Learner:
    """The workspace's buffers for these shapes; their contents never outlive a task."""
    name = (Learner, policy, critic, batch_size)
    if name not in workspace.scratch:
        workspace.scratch[name] = Learner(policy, critic, batch_size, workspace.device)
    found: Learner = workspace.scratch[name]
    return found
